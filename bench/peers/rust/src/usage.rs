use serde::Serialize;

/// CPU in microseconds since the process began; memory in MB, now and at most.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub cpu: i64,
    pub megabytes: f64,
    pub peak_megabytes: f64,
}

impl Usage {
    pub fn now() -> Usage {
        // SAFETY: all zeros are a valid `rusage`, and `getrusage` writes nothing but that.
        let of = unsafe {
            let mut of: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut of);
            of
        };
        let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + i64::from(time.tv_usec);
        Usage {
            cpu: micros(of.ru_utime) + micros(of.ru_stime),
            megabytes: resident().unwrap_or(0.0),
            peak_megabytes: of.ru_maxrss as f64 / 1024.0,
        }
    }
}

/// None where there is no /proc.
fn resident() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = text.split(' ').nth(1)?.parse().ok()?;
    // SAFETY: `sysconf` has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64;
    Some(pages * page / f64::from(1 << 20))
}
