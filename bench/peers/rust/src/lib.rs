//! What peers in Rust have in common: they are spoken to as bench/src/protocol.ts says, on one thread each.
mod calls;
mod task;
mod usage;

pub use calls::{beside, calls, connects, paced, timed};
pub use task::{Latency, Outcome, Task};

use serde_json::{Value, json};
use std::cell::RefCell;
use std::error::Error;
use task::Command;
use tokio::io::{AsyncBufReadExt, BufReader};
use usage::Usage;

pub type Failure = Box<dyn Error>;

/// The client of a peer, which keeps its connections.
pub trait Client {
    type Connection;

    /// Connections that are kept from one task to the next.
    fn kept(&self) -> &RefCell<Vec<Self::Connection>>;

    /// Fulfils when the reply to the first call is there.
    fn connect(&self) -> impl Future<Output = Result<Self::Connection, Failure>>;

    /// Connects until so many are kept.
    fn keep(&self, connections: usize) -> impl Future<Output = Result<(), Failure>> {
        async move {
            while self.kept().borrow().len() < connections {
                let one = self.connect().await?;
                self.kept().borrow_mut().push(one);
            }
            Ok(())
        }
    }

    fn run(&self, task: &Task, amount: usize) -> impl Future<Output = Result<Outcome, Failure>>;
}

fn can(task: &Task) -> bool {
    !matches!(task, Task::Notify | Task::Pipe { .. } | Task::Message { .. } | Task::Connect { resume: true })
}

/// Runs the end that the command line says. `serve` takes host, certificate and key, and returns the port; `connect` takes host,
/// port and certificate.
pub fn main<C: Client>(
    serve: impl AsyncFnOnce(&str, &str, &str) -> Result<u16, Failure>,
    connect: impl FnOnce(&str, &str, &str) -> Result<C, Failure>,
) -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let client = match args[..] {
            ["server", host, cert, key] => {
                say(&json!({ "ready": serve(host, cert, key).await? }));
                None
            }
            ["client", host, port, cert] => {
                let client = connect(host, port, cert)?;
                say(&json!({ "ready": 0 }));
                Some(client)
            }
            _ => return Err("usage: server HOST CERT KEY | client HOST PORT CERT".into()),
        };
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            let answer = match answer(serde_json::from_str(&line)?, client.as_ref()).await {
                Ok(answer) => answer,
                Err(error) => json!({ "failed": error.to_string() }),
            };
            say(&answer);
        }
        Ok(())
    })
}

async fn answer<C: Client>(command: Command, client: Option<&C>) -> Result<Value, Failure> {
    match (command, client) {
        (Command { usage: Some(_), .. }, _) => Ok(json!({ "usage": Usage::now() })),
        (Command { prepare: Some(task), connections, .. }, Some(client)) => {
            if !can(&task) {
                return Ok(json!({ "cannot": true }));
            }
            if !matches!(task, Task::Connect { .. } | Task::Idle) {
                client.keep(connections).await?;
            }
            Ok(json!({ "ready": 0 }))
        }
        (Command { run: Some(task), amount, .. }, Some(client)) => {
            let before = Usage::now();
            let outcome = client.run(&task, amount).await?;
            let Usage { cpu, megabytes, peak_megabytes } = Usage::now();
            Ok(json!({ "run": {
                "cpu": cpu - before.cpu, "megabytes": megabytes, "peakMegabytes": peak_megabytes,
                "seconds": outcome.seconds, "errors": outcome.errors, "latency": outcome.latency,
            } }))
        }
        _ => Err("no such command".into()),
    }
}

fn say(answer: &Value) {
    println!("{answer}");
}
