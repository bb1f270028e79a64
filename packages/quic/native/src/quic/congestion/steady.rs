//! Implements quinn-proto's controller interface.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use super::window::Window;

/// RFC 9002 §7.2: ten packets, at most 14,720 bytes.
const INITIAL_PACKETS: u64 = 10;
const INITIAL_BYTES: u64 = 14_720;

/// CUBIC that tolerates random loss: a loss counts as congestion only when packets wait in a queue, or when more are
/// lost than random loss explains.
#[derive(Clone, Debug)]
struct Steady {
    window: Window,
    initial: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SteadyConfig;

impl ControllerFactory for SteadyConfig {
    fn build(self: Arc<Self>, _now: Instant, packet: u16) -> Box<dyn Controller> {
        let initial = (INITIAL_PACKETS * u64::from(packet)).min(INITIAL_BYTES.max(2 * u64::from(packet)));
        Box::new(Steady {
            window: Window::new(initial, packet),
            initial,
        })
    }
}

impl Controller for Steady {
    fn on_ack(&mut self, _now: Instant, sent: Instant, bytes: u64, _app_limited: bool, _rtt: &RttEstimator) {
        self.window.acknowledge(sent, bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        self.window.settle(now, in_flight);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        if is_persistent_congestion {
            self.window.collapse(lost_bytes);
        } else {
            self.window.lose(now, sent, lost_bytes);
        }
    }

    fn on_spurious_loss(&mut self, bytes: u64, all: bool) {
        self.window.forgive(bytes);
        if all {
            self.window.restore();
        }
    }

    fn on_loss_confirmed(&mut self) {
        self.window.confirm();
    }

    fn on_mtu_update(&mut self, packet: u16) {
        self.window.set_packet(packet);
    }

    fn window(&self) -> u64 {
        self.window.size()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window.size();
        metrics.ssthresh = self.window.threshold();
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
