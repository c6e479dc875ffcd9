//! Playing: the outputs of the rule that fits, cut into frames of which `next` gives one at a time.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use mainstay_sdk::prelude::*;

use crate::rules::{Rule, Values};
use crate::script::{Arguments, Call, Output, Script, UsageText, What};
use crate::situation::{CALL_PREFIX, Last, Situation};
use crate::source::Defaults;
use crate::template::fill_value;

/// What one `next` gives, after a delay.
#[derive(Debug)]
struct Frame {
    delay_ms: u32,
    deltas: Result<Vec<Delta>, Error>,
}

/// A completion that is being played.
#[derive(Debug)]
pub struct Playing {
    frames: VecDeque<Frame>,
}

impl Completion for Playing {
    fn next(&mut self) -> Result<Vec<Delta>, Error> {
        let Some(frame) = self.frames.pop_front() else {
            return Err(Error::internal("the completion has ended and was asked again"));
        };
        if frame.delay_ms > 0 {
            thread::sleep(Duration::from_millis(frame.delay_ms.into()));
        }
        frame.deltas
    }
}

/// Finds the rule that fits and prepares what it says. A rule that starts with an error fails at once, as a provider
/// that refuses the request would.
pub(crate) fn start(script: &Script, situation: &Situation<'_>) -> Result<Playing, Error> {
    let mut stage = Stage::new(situation);
    let found = script.rules.iter().find_map(|rule| rule.when.fits(situation).map(|values| (rule, values)));
    match found {
        Some((Rule { outputs, .. }, values)) => {
            if let [Output { what: What::Error(error), pace, .. }] = outputs.as_slice()
                && pace.delay_ms == 0
            {
                return Err(error.clone().into());
            }
            outputs.iter().for_each(|output| stage.perform(output, &values));
        }
        None => stage.say_nothing_fits(script.rules.len()),
    }
    Ok(stage.end())
}

/// Collects frames.
struct Stage<'a> {
    situation: &'a Situation<'a>,
    frames: VecDeque<Frame>,
    next_call: u64,
    output_bytes: usize,
    usage: Option<UsageText>,
    finish: Option<FinishReason>,
    failed: bool,
}

impl<'a> Stage<'a> {
    fn new(situation: &'a Situation<'a>) -> Self {
        Self {
            situation,
            frames: VecDeque::new(),
            next_call: situation.next_call,
            output_bytes: 0,
            usage: None,
            finish: None,
            failed: false,
        }
    }

    fn perform(&mut self, output: &Output, values: &Values) {
        match &output.what {
            What::Text(text) => self.say(&text.fill(values), output, Delta::Text),
            What::Reasoning(text) => self.say(&text.fill(values), output, Delta::Reasoning),
            What::Call(call) => self.call(call, output, values),
            What::Usage(usage) => self.usage = Some(*usage),
            What::Finish(reason) => self.finish = Some(*reason),
            What::Error(error) => {
                self.frames.push_back(Frame { delay_ms: output.pace.delay_ms, deltas: Err(error.clone().into()) });
                self.failed = true;
            }
        }
    }

    /// An item of text: pieces, then its private part and its end together with the last piece.
    fn say(&mut self, text: &str, output: &Output, delta: fn(String) -> Delta) {
        self.output_bytes += text.len();
        let pieces = pieces(text, output.pace).into_iter().map(|piece| vec![delta(piece)]).collect();
        self.item(pieces, output);
    }

    fn call(&mut self, call: &Call, output: &Output, values: &Values) {
        let call_id = call.id.as_ref().map_or_else(|| format!("{CALL_PREFIX}{}", self.next_call), |id| id.fill(values));
        self.next_call += 1;
        let arguments = match &call.arguments {
            Arguments::Value(value) => fill_value(value, values).to_string(),
            Arguments::Raw(text) => text.fill(values),
        };
        self.output_bytes += arguments.len();
        let begin = Delta::ToolCallBegin(CallStart { call_id, name: call.name.fill(values) });
        let mut pieces: Vec<Vec<Delta>> =
            pieces(&arguments, output.pace).into_iter().map(|piece| vec![Delta::ToolCallArguments(piece)]).collect();
        pieces[0].insert(0, begin);
        self.item(pieces, output);
        self.finish.get_or_insert(FinishReason::ToolCalls);
    }

    fn item(&mut self, mut pieces: Vec<Vec<Delta>>, output: &Output) {
        if let Some(last) = pieces.last_mut() {
            last.extend(output.private.clone().map(Delta::PrivatePart));
            last.push(Delta::ItemEnd);
        }
        let delay_ms = output.pace.delay_ms;
        self.frames.extend(pieces.into_iter().map(|deltas| Frame { delay_ms, deltas: Ok(deltas) }));
    }

    fn say_nothing_fits(&mut self, rules: usize) {
        let what = match &self.situation.last {
            Last::Message => format!("the message “{}”", shorten(&self.situation.message)),
            Last::Result { tool, text, .. } => format!("the result of `{tool}`, “{}”", shorten(text)),
            Last::Other => "this point of the conversation".to_owned(),
        };
        let text = format!(
            "None of the {rules} rules of my script fits {what}. I am `rehearsal` and only say what a script says: add a rule \
             for it, or a last one without `when` that always fits."
        );
        self.output_bytes += text.len();
        self.frames.push_back(Frame { delay_ms: 0, deltas: Ok(vec![Delta::Text(text), Delta::ItemEnd]) });
    }

    fn end(mut self) -> Playing {
        if !self.failed {
            let usage = self.usage.map_or_else(|| self.estimate(), Usage::from);
            let mut finish = Finish::new(self.finish.unwrap_or(FinishReason::Complete));
            finish.model = Some(crate::MODEL.to_owned());
            self.frames.push_back(Frame { delay_ms: 0, deltas: Ok(vec![Delta::Usage(usage), Delta::Finish(finish)]) });
        } else if let Some(usage) = self.usage {
            // An attempt that fails has cost something too.
            let last = self.frames.len() - 1;
            self.frames.insert(last, Frame { delay_ms: 0, deltas: Ok(vec![Delta::Usage(usage.into())]) });
        }
        Playing { frames: self.frames }
    }

    /// Four bytes a token: as good as any guess, and always the same.
    fn estimate(&self) -> Usage {
        let tokens = |bytes: usize| u32::try_from(bytes.div_ceil(4)).unwrap_or(u32::MAX);
        Usage::new(tokens(self.situation.input_bytes), tokens(self.output_bytes))
    }
}

impl From<UsageText> for Usage {
    fn from(usage: UsageText) -> Self {
        Self {
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            ..Self::new(usage.input_tokens, usage.output_tokens)
        }
    }
}

/// The text in pieces of so many characters; at least one piece, which may be empty.
fn pieces(text: &str, pace: Defaults) -> Vec<String> {
    let Some(size) = pace.chunk else { return vec![text.to_owned()] };
    let characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(size.get() as usize).map(|piece| piece.iter().collect()).collect()
}

/// How much of a text a message quotes.
const QUOTED_CHARS: usize = 80;

fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
