//! specs
