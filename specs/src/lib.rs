//! specs
#![allow(missing_docs)]
pub struct File {
    pub path: &'static str,
    pub text: &'static str,
}
#[derive(Debug)]
pub struct Release {
    pub version: &'static str,
    pub rest: &'static str,
    pub tokenization: &'static str,
    pub files: &'static [File],
}
impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.path)
    }
}
impl Release {
    pub fn file(&self, path: &str) -> Option<&'static File> {
        self.files.iter().find(|f| f.path == path)
    }
}
pub static RELEASES: &[Release] = &[];
pub fn release(version: &str) -> Option<&'static Release> {
    RELEASES.iter().find(|r| r.version == version)
}
