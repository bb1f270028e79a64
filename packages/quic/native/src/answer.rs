//! Values that native functions return to JavaScript.

use crate::error::Failure;

pub enum Answer {
    Nothing,
    Number(f64),
    Text(String),
    /// A Buffer with a copy of these.
    Bytes(Vec<u8>),
    List(Vec<Answer>),
}

impl From<Failure> for Answer {
    /// `[source, code, message, closeCode | undefined, reason | undefined, status | undefined]`
    fn from(failure: Failure) -> Self {
        let (code, reason) = match failure.close {
            Some((code, reason)) => (Answer::Number(code as f64), Answer::Text(reason)),
            None => (Answer::Nothing, Answer::Nothing),
        };
        Answer::List(vec![
            Answer::Text(failure.source.as_str().to_owned()),
            Answer::Text(failure.code.into_owned()),
            Answer::Text(failure.message),
            code,
            reason,
            failure
                .status
                .map_or(Answer::Nothing, |status| Answer::Number(status.into())),
        ])
    }
}
