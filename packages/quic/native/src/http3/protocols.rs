//! Subprotocols: `wt-available-protocols` lists the offered ones, `wt-protocol` names the chosen one (draft §3.4). Both
//! are structured fields (RFC 8941): a list of strings, or of tokens in earlier drafts, and a single item.

pub const AVAILABLE: &str = "wt-available-protocols";
pub const CHOSEN: &str = "wt-protocol";

/// The names in a list. A list that cannot be parsed is ignored as a whole (RFC 8941 §4.2): no names.
pub fn parse_list(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, after)) = item(rest) else {
            return Vec::new();
        };
        names.push(name);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) if !after.trim().is_empty() => rest = after.trim_start(),
            None if rest.is_empty() => {}
            _ => return Vec::new(),
        }
    }
    names
}

pub fn parse_item(text: &str) -> Option<String> {
    let (name, rest) = item(text.trim())?;
    rest.is_empty().then_some(name)
}

/// Parses a string or token at the front and skips its parameters. Returns it and the rest.
fn item(text: &str) -> Option<(String, &str)> {
    let (name, mut rest) = match text.strip_prefix('"') {
        Some(text) => string(text)?,
        None => token(text)?,
    };
    while let Some(parameter) = rest.strip_prefix(';') {
        let (_, after) = token(parameter.trim_start())?;
        rest = match after.strip_prefix('=') {
            Some(value) => match value.strip_prefix('"') {
                Some(value) => string(value)?.1,
                None => token(value)?.1,
            },
            None => after,
        };
    }
    Some((name, rest))
}

fn string(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((name, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                escaped @ ('"' | '\\') => name.push(escaped),
                _ => return None,
            },
            ' '..='~' => name.push(character),
            _ => return None,
        }
    }
    None
}

fn token(text: &str) -> Option<(String, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_alphanumeric() && !"!#$%&'*+-.^_`|~:/?".contains(character))
        .unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

pub fn encode_list(names: &[String]) -> String {
    let items: Vec<String> = names.iter().map(|name| encode_item(name)).collect();
    items.join(", ")
}

pub fn encode_item(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_tokens_and_parameters() {
        assert_eq!(
            parse_list(r#""a b", quicrpc.v1;q=1 ,"c\"\\";x="y";z"#),
            ["a b", "quicrpc.v1", r#"c"\"#]
        );
        assert_eq!(parse_item(r#" "v1" "#), Some("v1".to_owned()));
        assert_eq!(parse_item("v1"), Some("v1".to_owned()));
    }

    #[test]
    fn a_malformed_list_counts_as_none() {
        for text in ["", "a,", ",a", "\"a", "a b", "\"\\n\"", "a;", "(a)", "\"é\""] {
            assert_eq!(parse_list(text), [] as [&str; 0], "{text}");
        }
        assert_eq!(parse_item("a, b"), None);
    }

    proptest::proptest! {
        #[test]
        fn lists_survive(names in proptest::collection::vec("[ -~]{1,20}", 0..5)) {
            proptest::prop_assert_eq!(parse_list(&encode_list(&names)), names);
        }

        #[test]
        fn no_text_panics(text: String) {
            parse_list(&text);
        }
    }
}
