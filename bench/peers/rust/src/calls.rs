use crate::{Failure, Latency, Outcome};
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// `amount` calls over all connections, so many in flight on each.
pub async fn calls<T, F, E>(
    open: &[T],
    in_flight: usize,
    amount: usize,
    call: impl Fn(T, usize) -> F + Clone + 'static,
) -> Result<Outcome, Failure>
where
    T: Clone + 'static,
    F: Future<Output = Result<(), E>> + 'static,
    E: Display + 'static,
{
    let left = Rc::new(Cell::new(amount));
    let errors = Rc::new(Cell::new(0));
    let took = Rc::new(RefCell::new(Vec::with_capacity(amount)));
    let started = Instant::now();
    let workers: Vec<_> = open
        .iter()
        .flat_map(|connection| std::iter::repeat_n(connection.clone(), in_flight))
        .map(|bench| {
            let (call, left, errors, took) = (call.clone(), left.clone(), errors.clone(), took.clone());
            tokio::task::spawn_local(async move {
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    let began = Instant::now();
                    if let Err(error) = call(bench.clone(), left.get()).await {
                        if errors.replace(errors.get() + 1) == 0 {
                            eprintln!("{error}");
                        }
                    }
                    took.borrow_mut().push(began.elapsed().as_secs_f64() * 1000.0);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(Outcome { seconds, errors: errors.get(), latency: Latency::of(took.take()) })
}

/// A call every so many ms, whether or not those before are answered, until `more` says no.
pub async fn paced<F, E>(
    every_ms: u64,
    more: impl Fn(usize) -> bool,
    call: impl Fn(usize) -> F,
) -> Result<Outcome, Failure>
where
    F: Future<Output = Result<(), E>> + 'static,
    E: Display + 'static,
{
    let started = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(every_ms));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut begun = Vec::new();
    while more(begun.len()) {
        ticks.tick().await;
        let asked = call(begun.len());
        begun.push(tokio::task::spawn_local(async move {
            let began = Instant::now();
            let failed = asked.await.is_err();
            (began.elapsed().as_secs_f64() * 1000.0, failed)
        }));
    }
    let mut took = Vec::with_capacity(begun.len());
    let mut errors = 0;
    for one in begun {
        let (ms, failed) = one.await?;
        took.push(ms);
        errors += usize::from(failed);
    }
    Ok(Outcome { seconds: started.elapsed().as_secs_f64(), errors, latency: Latency::of(took) })
}

/// Such calls while `transfer` runs; the time is the transfer's.
pub async fn beside<F, E>(
    every_ms: u64,
    transfer: impl Future<Output = Result<(), Failure>> + 'static,
    call: impl Fn(usize) -> F,
) -> Result<Outcome, Failure>
where
    F: Future<Output = Result<(), E>> + 'static,
    E: Display + 'static,
{
    let moved = Rc::new(RefCell::new(None));
    let result = moved.clone();
    tokio::task::spawn_local(async move {
        let outcome = timed(transfer).await;
        *result.borrow_mut() = Some(outcome);
    });
    let calls = paced(every_ms, |_| moved.borrow().is_none(), call).await?;
    let moved = moved.take().ok_or("the transfer has no result")??;
    Ok(Outcome { seconds: moved.seconds, ..calls })
}

/// `amount` new connections one after the other, without the time that closing takes.
pub async fn connects<T>(
    amount: usize,
    connect: impl AsyncFn() -> Result<T, Failure>,
    close: impl Fn(T),
) -> Result<Outcome, Failure> {
    let mut took = Vec::new();
    for _ in 0..amount {
        let began = Instant::now();
        let connection = connect().await?;
        took.push(began.elapsed().as_secs_f64() * 1000.0);
        close(connection);
    }
    Ok(Outcome { seconds: took.iter().sum::<f64>() / 1000.0, errors: 0, latency: Latency::of(took) })
}

pub async fn timed(run: impl Future<Output = Result<(), Failure>>) -> Result<Outcome, Failure> {
    let started = Instant::now();
    run.await?;
    Ok(Outcome { seconds: started.elapsed().as_secs_f64(), errors: 0, latency: None })
}
