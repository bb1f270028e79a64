//! Wraps any controller and opens its window for two cases: CONNECTION_CLOSE, and a PING to a peer that has gone
//! silent. quinn-proto holds CONNECTION_CLOSE back like data while the window is full (quinn issue 2785), and a closed
//! connection reads no acknowledgement that would make room: the peer would wait for its idle timeout. quinn-proto
//! holds a PING back as well. Before the handshake is confirmed it only repeats handshake packets, and a peer that has
//! lost the connection does not answer those.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::{Connection, RttEstimator};

struct Closable {
    inner: Box<dyn Controller>,
    /// Shared with every clone.
    open: Arc<AtomicBool>,
}

/// Makes controllers of `F` whose window `set_window_open` can open.
pub struct ClosableConfig<F>(pub Arc<F>);

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for ClosableConfig<F> {
    fn build(self: Arc<Self>, now: Instant, packet: u16) -> Box<dyn Controller> {
        Box::new(Closable {
            inner: self.0.clone().build(now, packet),
            open: Arc::default(),
        })
    }
}

/// Opens the congestion window: permanently if only CONNECTION_CLOSE remains to be sent, or for one packet that asks
/// whether the peer still answers.
pub fn set_window_open(connection: &Connection, open: bool) {
    if let Ok(controller) = connection
        .congestion_state()
        .clone_box()
        .into_any()
        .downcast::<Closable>()
    {
        controller.open.store(open, Ordering::Relaxed);
    }
}

impl Controller for Closable {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_spurious_loss(&mut self, bytes: u64, all: bool) {
        self.inner.on_spurious_loss(bytes, all);
    }

    fn on_loss_confirmed(&mut self) {
        self.inner.on_loss_confirmed();
    }

    fn on_mtu_update(&mut self, packet: u16) {
        self.inner.on_mtu_update(packet);
    }

    fn window(&self) -> u64 {
        if self.open.load(Ordering::Relaxed) {
            // A larger window than quinn-proto paces.
            return u64::MAX;
        }
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Closable {
            inner: self.inner.clone_box(),
            open: self.open.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
