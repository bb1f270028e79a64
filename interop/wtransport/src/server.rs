use crate::{Outcome, encode, pattern, read_all, read_line, send, send_uni, stop_code};
use std::sync::Arc;
use wtransport::config::IpBindConfig;
use wtransport::endpoint::IncomingSession;
use wtransport::{Connection, Endpoint, Identity, RecvStream, SendStream, ServerConfig};

pub async fn run(directory: &str) -> Outcome {
    let identity = Identity::load_pemfiles(
        format!("{directory}/cert.pem"),
        format!("{directory}/key.pem"),
    )
    .await?;
    let config = ServerConfig::builder()
        .with_bind_config(IpBindConfig::LocalV4, 0)
        .with_identity(identity)
        .build();
    let endpoint = Endpoint::server(config)?;
    println!("port {}", endpoint.local_addr()?.port());
    loop {
        let incoming = endpoint.accept().await;
        tokio::spawn(async move {
            if let Err(error) = serve(incoming).await {
                eprintln!("session: {error}");
            }
        });
    }
}

async fn serve(incoming: IncomingSession) -> Outcome {
    let request = incoming.await?;
    if request.path().starts_with("/status/") {
        request.forbidden().await;
        return Ok(());
    }
    let connection = Arc::new(request.accept().await?);
    loop {
        tokio::select! {
            stream = connection.accept_bi() => {
                let (to, from) = stream?;
                let connection = connection.clone();
                tokio::spawn(async move {
                    if let Err(error) = obey(&connection, to, from).await {
                        eprintln!("stream: {error}");
                    }
                });
            }
            stream = connection.accept_uni() => {
                let mut from = stream?;
                let connection = connection.clone();
                tokio::spawn(async move {
                    if let Ok(all) = read_all(&mut from).await {
                        send_uni(&connection, all.strip_prefix(b"echo\n").unwrap_or(&all)).await.ok();
                    }
                });
            }
            datagram = connection.receive_datagram() => connection.send_datagram(datagram?.payload())?,
        }
    }
}

async fn obey(connection: &Connection, mut to: SendStream, mut from: RecvStream) -> Outcome {
    let line = read_line(&mut from).await?;
    let mut words = line.splitn(3, ' ');
    let command = words.next().unwrap_or_default();
    let number = words
        .next()
        .and_then(|word| word.parse::<u32>().ok())
        .unwrap_or_default();
    match command {
        "echo" => {
            let mut buffer = vec![0; 65_536];
            while let Some(count) = from.read(&mut buffer).await? {
                to.write_all(&buffer[..count]).await?;
            }
            to.finish().await?;
        }
        "count" => {
            let received = read_all(&mut from)
                .await
                .map_err(|code| format!("reset {code}"))?;
            let right = received == pattern(received.len());
            let answer = if right {
                received.len().to_string()
            } else {
                "wrong bytes".into()
            };
            send(to, answer.as_bytes()).await?;
        }
        "send" => send(to, &pattern(number as usize)).await?,
        "reset" => {
            to.write_all(b"x").await?;
            to.reset(encode(number))?;
        }
        "stop" => {
            from.stop(encode(number));
            to.finish().await?;
        }
        "watch" => {
            to.write_all(b"ok\n").await?;
            let code = read_all(&mut from).await.err().ok_or("no reset")?;
            send(to, format!("reset {code}").as_bytes()).await?;
        }
        "stopped" => {
            to.write_all(b"ok\n").await?;
            let code = stop_code(&mut to).await?;
            send_uni(connection, format!("stop {code}").as_bytes()).await?;
        }
        "open" => {
            let (theirs, mut back) = connection.open_bi().await?.await?;
            send(theirs, b"hello").await?;
            let answer = read_all(&mut back)
                .await
                .map_err(|code| format!("reset {code}"))?;
            send(to, &answer).await?;
        }
        _ => return Err(format!("unknown command {line:?}").into()),
    }
    Ok(())
}
