use crate::{Outcome, SIZE, encode, pattern, read_all, read_line, send, send_uni, stop_code};
use std::time::Duration;
use tokio::time::timeout;
use wtransport::config::IpBindConfig;
use wtransport::error::ConnectingError;
use wtransport::tls::{Sha256Digest, Sha256DigestFmt};
use wtransport::{ClientConfig, Connection, Endpoint, RecvStream, SendStream};

pub async fn run(port: &str, hash: &str, scenarios: &[String]) -> Outcome {
    for scenario in scenarios {
        let outcome = timeout(Duration::from_secs(20), run_one(port, hash, scenario)).await;
        match outcome.unwrap_or_else(|elapsed| Err(elapsed.into())) {
            Ok(()) => println!("{scenario}\tok"),
            Err(error) => println!("{scenario}\tfailed\t{error}"),
        }
    }
    Ok(())
}

async fn connect(port: &str, hash: &str, path: &str) -> Result<Connection, ConnectingError> {
    let digest = Sha256Digest::from_str_fmt(hash, Sha256DigestFmt::DottedHex)
        .expect("a SHA-256 in dotted hex");
    let config = ClientConfig::builder()
        .with_bind_config(IpBindConfig::LocalV4)
        .with_server_certificate_hashes([digest])
        .build();
    let endpoint = Endpoint::client(config).map_err(ConnectingError::DnsLookup)?;
    endpoint
        .connect(format!("https://127.0.0.1:{port}{path}"))
        .await
}

async fn run_one(port: &str, hash: &str, scenario: &str) -> Outcome {
    match scenario {
        "reject" => match connect(port, hash, "/status/403").await {
            Err(ConnectingError::SessionRejected) => return Ok(()),
            Err(other) => return Err(other.into()),
            Ok(_) => return Err("the session was accepted".into()),
        },
        "hash" => {
            connect(port, hash, "/").await?;
            let wrong = ["00"; 32].join(":");
            return match connect(port, &wrong, "/").await {
                Ok(_) => Err("a wrong hash was accepted".into()),
                Err(_) => Ok(()),
            };
        }
        _ => {}
    }
    let connection = connect(port, hash, "/").await?;
    match scenario {
        "handshake" => answers(&connection, b"echo\nhello", b"hello").await,
        "streams" => {
            let tasks: Vec<_> = (0..200)
                .map(|index| {
                    let connection = connection.clone();
                    tokio::spawn(async move {
                        let data = pattern(1024 + index);
                        answers(&connection, &[b"echo\n", &data[..]].concat(), &data).await
                    })
                })
                .collect();
            for task in tasks {
                task.await??;
            }
            Ok(())
        }
        "upload" => {
            answers(
                &connection,
                &[b"count\n", &pattern(SIZE)[..]].concat(),
                SIZE.to_string().as_bytes(),
            )
            .await
        }
        "download" => {
            answers(
                &connection,
                format!("send {SIZE}\n").as_bytes(),
                &pattern(SIZE),
            )
            .await
        }
        "reset_sent" => {
            let (mut to, mut from) = begin(&connection, "watch\n").await?;
            to.reset(encode(77))?;
            let answer = read_all(&mut from)
                .await
                .map_err(|code| format!("reset {code}"))?;
            expect(&answer, b"reset 77")
        }
        "reset_received" => {
            let (to, mut from) = connection.open_bi().await?.await?;
            send(to, b"reset 78\n").await?;
            let code = read_all(&mut from).await.err().ok_or("no reset")?;
            expect(code.to_string().as_bytes(), b"78")
        }
        "stop_sent" => {
            let (_to, from) = begin(&connection, "stopped\n").await?;
            from.stop(encode(79));
            uni_answers(&connection, b"stop 79").await
        }
        "stop_received" => {
            let (mut to, _from) = connection.open_bi().await?.await?;
            to.write_all(b"stop 80\n").await?;
            expect(stop_code(&mut to).await?.to_string().as_bytes(), b"80")
        }
        "uni" => {
            send_uni(&connection, b"echo\none way").await?;
            uni_answers(&connection, b"one way").await
        }
        "opened" => {
            let (to, mut from) = connection.open_bi().await?.await?;
            send(to, b"open\n").await?;
            let (theirs, mut hello) = connection.accept_bi().await?;
            expect(
                &read_all(&mut hello)
                    .await
                    .map_err(|code| format!("reset {code}"))?,
                b"hello",
            )?;
            send(theirs, b"hello back").await?;
            expect(
                &read_all(&mut from)
                    .await
                    .map_err(|code| format!("reset {code}"))?,
                b"hello back",
            )
        }
        "datagrams" => {
            for _ in 0..20 {
                connection.send_datagram(b"ping")?;
                if let Ok(datagram) =
                    timeout(Duration::from_millis(100), connection.receive_datagram()).await
                {
                    return expect(&datagram?.payload(), b"ping");
                }
            }
            Err("none of 20 datagrams came back".into())
        }
        other => Err(format!("unknown scenario {other}").into()),
    }
}

/// Begins a command, reads "ok" and leaves the stream open.
async fn begin(connection: &Connection, line: &str) -> Outcome<(SendStream, RecvStream)> {
    let (mut to, mut from) = connection.open_bi().await?.await?;
    to.write_all(line.as_bytes()).await?;
    expect(read_line(&mut from).await?.as_bytes(), b"ok")?;
    Ok((to, from))
}

/// Reads while it writes: an echo would stall otherwise.
async fn answers(connection: &Connection, data: &[u8], wanted: &[u8]) -> Outcome {
    let (to, mut from) = connection.open_bi().await?.await?;
    let (sent, received) = tokio::join!(send(to, data), read_all(&mut from));
    sent?;
    expect(&received.map_err(|code| format!("reset {code}"))?, wanted)
}

async fn uni_answers(connection: &Connection, wanted: &[u8]) -> Outcome {
    let mut from = connection.accept_uni().await?;
    expect(
        &read_all(&mut from)
            .await
            .map_err(|code| format!("reset {code}"))?,
        wanted,
    )
}

fn expect(seen: &[u8], wanted: &[u8]) -> Outcome {
    if seen == wanted {
        return Ok(());
    }
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned();
    Err(format!(
        "expected {} bytes {:?}, got {} bytes {:?}",
        wanted.len(),
        shown(wanted),
        seen.len(),
        shown(seen)
    )
    .into())
}
