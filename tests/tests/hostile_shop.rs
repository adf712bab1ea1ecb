//! A merchant's server that means harm: each of its tricks ends in an error of its own, soon, and
//! costs no more memory than the limits allow.

#![allow(clippy::unwrap_used)]

use peak_alloc::PeakAlloc;
use std::future::Future;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use ucp_runtime::error::{BodyProblem, DiscoveryError, DiscoveryProblem};
use ucp_runtime::{Agent, Discovery, Error};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What one document may cost: twice the limit for the bytes, and what a connection needs.
const MOST: usize = 4 * 1024 * 1024;
/// What the agent waits, and what the test waits at most.
const PATIENCE: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);

type Trick = fn(TcpStream) -> Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

/// Plays a trick on everyone who connects. Returns the server's origin.
async fn shop(trick: Trick) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                // The agent hangs up on most of them.
                let _ = trick(stream).await;
            });
        }
    });
    origin
}

async fn fails(origin: &str) -> Arc<DiscoveryError> {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent
        .development()
        .discovery(Discovery::default().timeout(PATIENCE))
        .build()
        .unwrap();
    match timeout(SOON, agent.connect(origin)).await.unwrap() {
        Err(Error::Discovery(error)) => error,
        other => panic!("{other:?}"),
    }
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

async fn answer(mut stream: TcpStream, head: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.shutdown().await
}

async fn endless(mut stream: TcpStream, head: &[u8], piece: &[u8]) -> std::io::Result<()> {
    stream.write_all(head).await?;
    loop {
        stream.write_all(piece).await?;
    }
}

/// 64 MiB of zeros in 64 KiB.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        gzip.write_all(&[0; 1024 * 1024]).unwrap();
    }
    gzip.finish().unwrap()
});

#[tokio::test]
async fn each_trick_has_its_own_error_and_costs_little() {
    type Check = fn(&DiscoveryProblem) -> bool;
    let tricks: [(&str, Trick, Check); 13] = [
        (
            "redirect",
            |stream| {
                Box::pin(answer(
                    stream,
                    "302 Found\r\nLocation: http://169.254.169.254/latest?token=1",
                    b"",
                ))
            },
            |found| matches!(found, DiscoveryProblem::Redirect { to } if to == "http://169.254.169.254/latest"),
        ),
        (
            "a head, byte by byte",
            |mut stream| {
                Box::pin(async move {
                    for byte in OK.iter().cycle() {
                        stream.write_all(&[*byte]).await?;
                        sleep(Duration::from_millis(20)).await;
                    }
                    Ok(())
                })
            },
            |found| matches!(found, DiscoveryProblem::Timeout { after } if *after == PATIENCE),
        ),
        (
            "a body, byte by byte",
            |mut stream| {
                Box::pin(async move {
                    stream.write_all(OK).await?;
                    stream.write_all(b"\r\n").await?;
                    loop {
                        stream.write_all(b" ").await?;
                        sleep(Duration::from_millis(20)).await;
                    }
                })
            },
            |found| matches!(found, DiscoveryProblem::Timeout { .. }),
        ),
        (
            "silence",
            |stream| {
                Box::pin(async move {
                    sleep(SOON).await;
                    drop(stream);
                    Ok(())
                })
            },
            |found| matches!(found, DiscoveryProblem::Timeout { .. }),
        ),
        (
            "a body without end",
            |stream| {
                Box::pin(async move {
                    let head = [OK, b"\r\n"].concat();
                    endless(stream, &head, &[b' '; 16 * 1024]).await
                })
            },
            |found| matches!(found, DiscoveryProblem::TooLong { limit } if *limit == 256 * 1024),
        ),
        (
            "a long body, announced",
            |stream| {
                Box::pin(async move {
                    let head = [OK, b"Content-Length: 5242880\r\n\r\n"].concat();
                    endless(stream, &head, &[b' '; 16 * 1024]).await
                })
            },
            |found| matches!(found, DiscoveryProblem::TooLong { .. }),
        ),
        (
            "a page",
            |stream| {
                Box::pin(answer(
                    stream,
                    "200 OK\r\nContent-Type: text/html",
                    b"<html>{}</html>",
                ))
            },
            |found| matches!(found, DiscoveryProblem::Body(BodyProblem::Html)),
        ),
        (
            "another type",
            |stream| {
                Box::pin(answer(
                    stream,
                    "200 OK\r\nContent-Type: text/plain",
                    b"{\"ucp\":{}}",
                ))
            },
            |found| matches!(found, DiscoveryProblem::Body(BodyProblem::ContentType { found }) if found == "text/plain"),
        ),
        (
            "a compressed body that grows a thousandfold",
            |stream| {
                Box::pin(async move {
                    answer(
                        stream,
                        "200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip",
                        &BOMB,
                    )
                    .await
                })
            },
            |found| matches!(found, DiscoveryProblem::Body(BodyProblem::Encoded { coding }) if coding == "gzip"),
        ),
        (
            "a head without end",
            |stream| {
                Box::pin(async move {
                    let line = format!("X-Filler: {}\r\n", "x".repeat(8 * 1024));
                    endless(stream, OK, line.as_bytes()).await
                })
            },
            |found| matches!(found, DiscoveryProblem::NoAnswer(_)),
        ),
        (
            "a body that breaks off",
            |mut stream| {
                Box::pin(async move {
                    stream.write_all(OK).await?;
                    stream
                        .write_all(b"Content-Length: 100\r\n\r\n{\"ucp\":")
                        .await?;
                    stream.shutdown().await
                })
            },
            |found| {
                matches!(
                    found,
                    DiscoveryProblem::Body(BodyProblem::Truncated { received: 7, .. })
                )
            },
        ),
        (
            "depth",
            |stream| {
                Box::pin(async move {
                    answer(
                        stream,
                        "200 OK\r\nContent-Type: application/json",
                        &vec![b'['; 200 * 1024],
                    )
                    .await
                })
            },
            |found| matches!(found, DiscoveryProblem::Body(BodyProblem::NotJson { .. })),
        ),
        (
            "nothing",
            |mut stream| Box::pin(async move { stream.shutdown().await }),
            |found| matches!(found, DiscoveryProblem::NoAnswer(_)),
        ),
    ];
    // It is made here and not by the agent.
    assert!(BOMB.len() < 128 * 1024);
    for (name, trick, is_right) in tricks {
        let origin = shop(trick).await;
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let error = fails(&origin).await;
        let peak = MEMORY.peak_usage() - before;
        assert!(is_right(&error.problem), "{name}: {:?}", error.problem);
        let kept = error.response.as_ref().map_or(0, |kept| kept.bytes().len());
        assert!(kept <= 4 * 1024, "{name}: {kept} bytes kept");
        println!("{name}: {peak} bytes, {error}");
        assert!(peak <= MOST, "{name}: {peak} bytes");
    }
}
