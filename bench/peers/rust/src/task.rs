use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
pub struct Command {
    pub prepare: Option<Task>,
    #[serde(default)]
    pub connections: usize,
    pub run: Option<Task>,
    #[serde(default)]
    pub amount: usize,
    pub usage: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Task {
    Multiply { in_flight: usize },
    Empty { in_flight: usize },
    Wait { in_flight: usize, ms: u32 },
    Echo { in_flight: usize, bytes: usize },
    Notify,
    Items,
    Upload { chunk: usize },
    Pipe { chunk: usize },
    Paced { every_ms: u64 },
    Beside { every_ms: u64, chunk: usize },
    Message { in_flight: usize },
    Connect { resume: bool },
    Idle,
}

pub struct Outcome {
    pub seconds: f64,
    pub errors: usize,
    pub latency: Option<Latency>,
}

/// Durations of single calls, in ms.
#[derive(Serialize)]
pub struct Latency {
    p50: f64,
    p95: f64,
    p99: f64,
}

impl Latency {
    pub(crate) fn of(mut took: Vec<f64>) -> Option<Latency> {
        took.sort_by(f64::total_cmp);
        let at = |share: f64| took.get(((took.len() as f64 * share) as usize).min(took.len() - 1)).copied();
        if took.is_empty() { None } else { Some(Latency { p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)? }) }
    }
}
