//! A request of plain HTTP and its response on one stream, and the limit of cancelled requests.

use std::time::Instant;

use crate::h3::{Body, Fault, PlainRequest};
use crate::sink::Sink;

pub struct Exchange {
    /// The request, until JavaScript has read it.
    pub request: Option<PlainRequest>,
    pub body: Body,
    /// The client has received the whole response, or will receive no more of it.
    pub delivered: bool,
    /// The client has cancelled it.
    pub cancelled: bool,
}

impl Exchange {
    pub fn new(request: PlainRequest) -> Self {
        Exchange {
            body: Body::new(request.length),
            request: Some(request),
            delivered: false,
            cancelled: false,
        }
    }

    /// Writes the body bytes in the frames of `bytes` into the sink.
    pub fn collect(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<(), Fault> {
        let mut input = bytes;
        while let Some(data) = self.body.next(&mut input)? {
            sink.put(data);
        }
        Ok(())
    }
}

/// Number of requests that a client may cancel at once, and for each second that passes. A client that quickly begins
/// and cancels requests causes work that a limit of requests in progress does not bound. The same numbers as in Node's
/// HTTP/2.
const BURST: f64 = 1000.0;
const PER_SECOND: f64 = 33.0;

/// Counts the requests that a connection's client cancels.
pub struct CancelLimit {
    left: f64,
    at: Instant,
}

impl CancelLimit {
    pub fn new(now: Instant) -> Self {
        CancelLimit { left: BURST, at: now }
    }

    /// Counts a cancelled request if the limit allows it, and returns whether it does.
    pub fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * PER_SECOND).min(BURST) - 1.0;
        self.left >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_and_a_rate() {
        let now = Instant::now();
        let mut limit = CancelLimit::new(now);
        let allowed = |limit: &mut CancelLimit, now| (0..2000).take_while(|_| limit.take(now)).count();
        assert_eq!(allowed(&mut limit, now), 1000);
        let mut steady = CancelLimit::new(now);
        assert_eq!(allowed(&mut steady, now + Duration::from_secs(600)), 1000);
        assert!((0..600).all(|n| {
            let mut later = CancelLimit::new(now);
            (0..=n).all(|at| later.take(now + Duration::from_millis(31 * at)))
        }));
    }
}
