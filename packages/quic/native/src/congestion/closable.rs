//! Any controller, with a window that opens when its connection closes. quinn-proto holds CONNECTION_CLOSE back like
//! data while the window is full (quinn issue 2785), and a closed connection reads no acknowledgement that would make
//! room: the peer would wait for its idle timeout.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use quinn_proto::{Connection, RttEstimator};

struct Closable {
    inner: Box<dyn Controller>,
    /// Shared with every clone.
    closed: Arc<AtomicBool>,
}

/// Controllers of `F` that `open_window` works on.
pub struct ClosableConfig<F>(pub Arc<F>);

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for ClosableConfig<F> {
    fn build(self: Arc<Self>, now: Instant, packet: u16) -> Box<dyn Controller> {
        Box::new(Closable {
            inner: self.0.clone().build(now, packet),
            closed: Arc::default(),
        })
    }
}

/// Opens the congestion window of a connection that has nothing left to send but its CONNECTION_CLOSE.
pub fn open_window(connection: &Connection) {
    if let Ok(controller) = connection
        .congestion_state()
        .clone_box()
        .into_any()
        .downcast::<Closable>()
    {
        controller.closed.store(true, Ordering::Relaxed);
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

    fn on_mtu_update(&mut self, packet: u16) {
        self.inner.on_mtu_update(packet);
    }

    fn window(&self) -> u64 {
        if self.closed.load(Ordering::Relaxed) {
            // Beyond what quinn-proto paces.
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
            closed: self.closed.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
