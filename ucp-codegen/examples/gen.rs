fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let b = if path.contains('/') { ucp_codegen::Builder::contract(path) } else { ucp_codegen::Builder::release(path) };
    let b = b.extensions(args);
    let t = std::time::Instant::now();
    match b.source() { Ok(s) => println!("{s}"), Err(e) => { eprintln!("{e}"); std::process::exit(1) } }
    eprintln!("{:?}", t.elapsed());
}
