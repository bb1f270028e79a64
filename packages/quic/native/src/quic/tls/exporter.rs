//! Keying material of TLS 1.3 (RFC 8446 §7.5), computed from the secret alone for sessions whose TLS connection has
//! been freed.

use std::cell::Cell;
use std::mem::ManuallyDrop;

use rustls::crypto::tls13::OkmBlock;
use rustls::{KeyLog, SupportedCipherSuite, Tls13CipherSuite};

use super::key_log;

const LABEL: &str = "EXPORTER_SECRET";

thread_local! {
    /// The secret that TLS has just passed to the key log, within the call that derives it. Empty after each step, so
    /// that nothing needs to be dropped with the thread.
    static SECRET: ManuallyDrop<Cell<Option<OkmBlock>>> = const { ManuallyDrop::new(Cell::new(None)) };
}

/// Stores the exporter's secret for `Exporter::found_in`: rustls exposes it only to the key log.
#[derive(Debug)]
pub struct ServerKeyLog;

impl KeyLog for ServerKeyLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        if label == LABEL && secret.len() <= OkmBlock::MAX_LEN {
            SECRET.with(|noted| noted.set(Some(OkmBlock::new(secret))));
        }
        key_log().log(label, client_random, secret);
    }

    fn will_log(&self, label: &str) -> bool {
        label == LABEL || key_log().will_log(label)
    }
}

pub struct Exporter {
    suite: &'static Tls13CipherSuite,
    secret: OkmBlock,
}

impl Exporter {
    /// Runs a step of a handshake, and also returns the secret if the step derived it.
    pub fn found_in<T>(step: impl FnOnce() -> T) -> (T, Option<OkmBlock>) {
        // Also if the last step panicked.
        SECRET.with(|noted| noted.take());
        let result = step();
        (result, SECRET.with(|noted| noted.take()))
    }

    pub fn new(secret: OkmBlock, suite: Option<SupportedCipherSuite>) -> Option<Self> {
        let suite = suite?.tls13()?;
        Some(Exporter { suite, secret })
    }

    /// Fills `output`. Returns false if the label or the length is invalid.
    pub fn export(&self, output: &mut [u8], label: &[u8], context: &[u8]) -> bool {
        let hash = self.suite.common.hash_provider;
        let hkdf = self.suite.hkdf_provider;
        let expander = hkdf.expander_for_okm(&self.secret);
        // Derive-Secret(secret, label, ""), then HKDF-Expand-Label(…, "exporter", Hash(context), length).
        let nothing = hash.hash(&[]);
        let Some(info) = Info::new(label, nothing.as_ref(), hash.output_len()) else {
            return false;
        };
        let derived = expander.expand_block(&info.parts());
        let context = hash.hash(context);
        Info::new(b"exporter", context.as_ref(), output.len()).is_some_and(|info| {
            let expander = hkdf.expander_for_okm(&derived);
            expander.expand_slice(&info.parts(), output).is_ok()
        })
    }
}

/// HkdfLabel (RFC 8446 §7.1): length (u16) | label length (u8) | "tls13 " label | context length (u8) | context
struct Info<'a> {
    head: [u8; 3],
    label: &'a [u8],
    context_length: [u8; 1],
    context: &'a [u8],
}

impl<'a> Info<'a> {
    const PREFIX: &'static [u8] = b"tls13 ";

    fn new(label: &'a [u8], context: &'a [u8], length: usize) -> Option<Self> {
        let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
        let label_length = u8::try_from(Self::PREFIX.len() + label.len()).ok()?;
        Some(Info {
            head: [high, low, label_length],
            label,
            context_length: [u8::try_from(context.len()).ok()?],
            context,
        })
    }

    fn parts(&self) -> [&[u8]; 5] {
        [&self.head, Self::PREFIX, self.label, &self.context_length, self.context]
    }
}
