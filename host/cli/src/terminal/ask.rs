//! Asking a person: the text of an approval, and reading the answer.
//!
//! The final arguments stand apart from the plugin's own words, because the arguments are what will run and the words are only
//! what somebody says about it.

use mainstay_protocol::op::ApprovalAnswer;
use mainstay_server::wire::v1::ApprovalView;

use super::{
    escape, json,
    style::{NAME, QUIET, WARNING, paint},
};

/// Lines of arguments that are shown. More are cut in the middle, and the count of what is missing is shown.
const MAX_LINES: usize = 400;
/// Characters of one line that are shown.
const MAX_WIDTH: usize = 4_000;

/// The question under a pending approval.
pub(crate) const QUESTION: &str = "Allow it? y(es) or n(o), a comment may follow: ";

/// An approval, laid out. Ends with a line break.
pub(crate) fn approval(view: &ApprovalView) -> String {
    let (tool, step, call) = (escape::line(&view.tool), view.step, view.call);
    let mut out = format!("{} {}\n", paint(WARNING, "Approval needed: the model wants to run"), paint(NAME, &tool));
    out += &paint(QUIET, format!("  approval {}, turn {}, step {step}, call {call}", view.approval, view.turn));
    out += "\n  final arguments:\n";
    out += &bounded(&json::pretty(&view.arguments, "    "));
    if view.reasons.is_empty() {
        return out;
    }
    out += &paint(QUIET, "  why it asks, in the words of plugins:\n");
    for reason in &view.reasons {
        let (code, message) = (escape::line(&reason.code), escape::clipped(&reason.message, MAX_WIDTH));
        out += &format!("    {code}: {message}\n");
    }
    out
}

/// Cuts what nobody would read, and says so: what is not shown must not look as if it were not there.
fn bounded(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = if lines.len() > MAX_LINES { (MAX_LINES / 2, MAX_LINES / 2) } else { (lines.len(), 0) };
    let mut out = String::new();
    lines[..head].iter().for_each(|line| push_line(&mut out, line));
    if tail > 0 {
        let missing = lines.len() - head - tail;
        let note = format!("    [{missing} lines are not shown; `mainstay session show --json` has them all]");
        out += &format!("{}\n", paint(WARNING, note));
        lines[lines.len() - tail..].iter().for_each(|line| push_line(&mut out, line));
    }
    out
}

fn push_line(out: &mut String, line: &str) {
    let length = line.chars().count();
    if length <= MAX_WIDTH {
        out.push_str(line);
    } else {
        out.extend(line.chars().take(MAX_WIDTH));
        *out += &paint(WARNING, format!(" [{} characters are not shown]", length - MAX_WIDTH));
    }
    out.push('\n');
}

/// An answer as people type it: `y` or `n`, then whatever else they want the model to know. None when it is neither.
pub(crate) fn parse_answer(line: &str) -> Option<(ApprovalAnswer, Option<String>)> {
    let line = line.trim();
    let end = line.find(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '.')).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let answer = match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => ApprovalAnswer::Approve,
        "n" | "no" => ApprovalAnswer::Deny,
        _ => return None,
    };
    let comment = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '.'));
    Some((answer, (!comment.is_empty()).then(|| comment.to_owned())))
}

#[cfg(test)]
pub(crate) mod tests {
    use anstream::adapter::strip_str;
    use mainstay_protocol::{ApprovalId, CallIndex, StepIndex, TurnId, record::v1::Reason};

    use super::*;

    pub(crate) fn sample(arguments: &str, reasons: Vec<Reason>) -> ApprovalView {
        ApprovalView {
            approval: ApprovalId::new("a-1").unwrap(),
            turn: TurnId::new("t-1").unwrap(),
            step: StepIndex(2),
            call: CallIndex(0),
            tool: "write_file".into(),
            arguments: arguments.into(),
            reasons,
        }
    }

    #[test]
    fn an_approval_keeps_arguments_apart_from_words() {
        let reasons = vec![Reason::new("approvals", "writes are \u{1b}[2Jasked\n  final arguments: {}")];
        let shown = approval(&sample(r#"{"path":"a","content":"x\ny"}"#, reasons));
        let expected = r#"Approval needed: the model wants to run write_file
  approval a-1, turn t-1, step 2, call 0
  final arguments:
    {
      "path": "a",
      "content": "x\n
        | y"
    }
  why it asks, in the words of plugins:
    approvals: writes are \u{1b}[2Jasked\n  final arguments: {}
"#;
        assert_eq!(strip_str(&shown).to_string(), expected);
    }

    #[test]
    fn what_is_cut_is_counted() {
        let many = format!("[{}1]", "1,".repeat(999));
        let shown = strip_str(&approval(&sample(&many, vec![]))).to_string();
        assert!(shown.contains("[602 lines are not shown;"), "{shown}");
        let long = format!("\"{}\"", "x".repeat(5_000));
        let shown = strip_str(&approval(&sample(&long, vec![]))).to_string();
        assert!(shown.contains("[1006 characters are not shown]"), "{shown}");
    }

    #[test]
    fn answers_are_read() {
        let answer = |line| parse_answer(line).map(|(answer, comment)| (answer == ApprovalAnswer::Approve, comment));
        assert_eq!(answer("y\n"), Some((true, None)));
        assert_eq!(answer(" YES "), Some((true, None)));
        assert_eq!(answer("n, not in this folder"), Some((false, Some("not in this folder".into()))));
        assert_eq!(answer("no: ask me later"), Some((false, Some("ask me later".into()))));
        for unclear in ["", "maybe", "yep", "nope", "ya", "/quit"] {
            assert_eq!(answer(unclear), None, "{unclear}");
        }
    }
}
