//! "Did you mean": the nearest known word to a misspelt one.

/// Words longer than this are not misspellings of ours, and comparing them would cost time for nothing.
const LONGEST: usize = 64;

/// The nearest of some known words, when one is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().count() > LONGEST {
        return None;
    }
    let folded = fold(word);
    let allowed = (folded.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A hint for a word that is not known: the nearest one, else all of them when they are few.
pub(crate) fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? known: {}", list(known)),
        None => format!("known: {}", list(known)),
    }
}

/// Words as a list for people; a long list is cut.
pub(crate) fn list(words: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = words.iter().take(SHOWN).map(|word| format!("`{word}`")).collect();
    match words.len() {
        0 => "none".to_owned(),
        len if len > SHOWN => format!("{} and {} more", shown.join(", "), len - SHOWN),
        _ => shown.join(", "),
    }
}

/// Spelling differences that are nobody's mistake: case, and `_` for `-`.
fn fold(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_far_ones_are_not() {
        let known = ["tool-gate", "tool-result", "stop"];
        assert_eq!(nearest("toolgate", known), Some("tool-gate"));
        assert_eq!(nearest("Tool_Gate", known), Some("tool-gate"));
        assert_eq!(nearest("sotp", known), Some("stop"));
        assert_eq!(nearest("prepare", known), None);
        assert_eq!(nearest(&"x".repeat(10_000), known), None);
    }
}
