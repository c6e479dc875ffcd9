//! `read_file`: a range of lines, streamed, so that the size of the file does not matter.

use std::fs::File;
use std::io::{BufRead, BufReader};

use mainstay_sdk::prelude::*;

use crate::roots::Place;
use crate::settings::{Settings, out_of_time};

pub(crate) const DESCRIPTION: &str = "Reads a text file, or a range of its lines. Long files come in pieces: a last line \
    in brackets then says how to go on.";

/// Arguments of `read_file`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The file.
    path: String,
    /// The first line, counted from 1. Default 1.
    #[schemars(range(min = 1))]
    from_line: Option<u64>,
    /// How many lines at most. Default: as many as fit.
    #[schemars(range(min = 1))]
    max_lines: Option<u64>,
}

pub(crate) fn run(arguments: Arguments) -> Outcome<String> {
    let settings = Settings::load()?;
    let place = Place::parse(&settings.root, &arguments.path)?;
    let mut reader = Lines::open(&place)?;
    let from = arguments.from_line.unwrap_or(1).max(1);
    if !reader.skip_to(from)? {
        return Err(past_the_end(&place, from, reader.line - 1).into());
    }
    let page = read_page(&mut reader, arguments.max_lines.unwrap_or(u64::MAX), settings.max_read_bytes)?;
    Ok(page.into_text(from))
}

/// Some lines of a file, and why there are no more of them.
struct Page {
    lines: Vec<String>,
    /// The last line is longer than what was kept of it.
    cut: bool,
    more: bool,
}

impl Page {
    fn into_text(self, from: u64) -> String {
        if self.lines.is_empty() && !self.more {
            return "[the file is empty]".to_owned();
        }
        let last = from + (self.lines.len() as u64).saturating_sub(1);
        let mut text: String = (from..).zip(&self.lines).map(|(number, line)| show(number, line)).collect();
        if (self.cut || self.more) && !text.ends_with('\n') {
            text.push('\n');
        }
        if self.cut {
            text.push_str(&format!("[line {last} is longer; the rest of it is left out]\n"));
        }
        if self.more {
            text.push_str(&format!("[lines {from} to {last}; go on with from_line = {}]\n", last + 1));
        }
        text
    }
}

#[cfg(not(feature = "next"))]
fn show(_number: u64, line: &str) -> String {
    line.to_owned()
}

#[cfg(feature = "next")]
fn show(number: u64, line: &str) -> String {
    format!("{number:>6}  {line}")
}

fn read_page(reader: &mut Lines<'_>, max_lines: u64, max_bytes: usize) -> Result<Page, Error> {
    let mut page = Page { lines: Vec::new(), cut: false, more: false };
    let mut room = max_bytes;
    while let Some((bytes, cut)) = reader.next_line(room)? {
        // A line that does not fit waits for the next page, unless it would fit into none.
        if cut && !page.lines.is_empty() {
            page.more = true;
            return Ok(page);
        }
        room -= bytes.len();
        page.lines.push(reader.decode(bytes, cut)?);
        page.cut = cut;
        if cut || page.lines.len() as u64 >= max_lines || room == 0 {
            page.more = !reader.at_end()?;
            return Ok(page);
        }
    }
    Ok(page)
}

fn past_the_end(place: &Place, from: u64, lines: u64) -> Error {
    let message = format!("reading `{place}`: it has {lines} lines, so there is no line {from}");
    Error::invalid_argument(message).with_code("no-such-line")
}

/// How much is looked at to tell text from other files.
const SNIFF: usize = 8 << 10;

/// The lines of a text file. `line` is the number of the next one.
struct Lines<'a> {
    place: &'a Place,
    input: BufReader<File>,
    line: u64,
}

impl<'a> Lines<'a> {
    fn open(place: &'a Place) -> Result<Self, Error> {
        let fault = |error| place.fault("reading", &error);
        let file = File::open(place.path()).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if metadata.is_dir() {
            let message = format!("reading `{place}`: it is a folder; list_files shows what is in it");
            return Err(Error::invalid_argument(message).with_code("is-a-folder"));
        }
        let mut input = BufReader::with_capacity(64 << 10, file);
        let head = input.fill_buf().map_err(fault)?;
        if head[..head.len().min(SNIFF)].contains(&0) {
            return Err(not_text(place, metadata.len()));
        }
        Ok(Self { place, input, line: 1 })
    }

    /// Goes to the start of a line; false when the file ends before it. Line 1 is there even in an empty file.
    fn skip_to(&mut self, line: u64) -> Result<bool, Error> {
        while self.line < line {
            if self.at_end()? {
                return Ok(false);
            }
            if out_of_time() {
                return Err(self.too_far());
            }
            self.skip_line()?;
        }
        Ok(line == 1 || !self.at_end()?)
    }

    fn skip_line(&mut self) -> Result<(), Error> {
        loop {
            let buffer = self.input.fill_buf().map_err(|error| self.place.fault("reading", &error))?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let (used, done) = end.map_or((buffer.len(), buffer.is_empty()), |end| (end + 1, true));
            self.input.consume(used);
            if done {
                self.line += 1;
                return Ok(());
            }
        }
    }

    /// The next line with its line break, or, of a line longer than `room`, its first bytes and `true`. The rest of
    /// such a line is passed over.
    fn next_line(&mut self, room: usize) -> Result<Option<(Vec<u8>, bool)>, Error> {
        let mut bytes = Vec::new();
        loop {
            let buffer = self.input.fill_buf().map_err(|error| self.place.fault("reading", &error))?;
            if buffer.is_empty() {
                self.line += 1;
                return Ok((!bytes.is_empty()).then_some((bytes, false)));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n').map_or(buffer.len(), |end| end + 1);
            if bytes.len() + end > room {
                bytes.extend_from_slice(&buffer[..room - bytes.len()]);
                self.skip_line()?;
                return Ok(Some((bytes, true)));
            }
            bytes.extend_from_slice(&buffer[..end]);
            self.input.consume(end);
            if bytes.ends_with(b"\n") {
                self.line += 1;
                return Ok(Some((bytes, false)));
            }
        }
    }

    fn at_end(&mut self) -> Result<bool, Error> {
        let buffer = self.input.fill_buf().map_err(|error| self.place.fault("reading", &error))?;
        Ok(buffer.is_empty())
    }

    fn decode(&self, mut bytes: Vec<u8>, cut: bool) -> Result<String, Error> {
        if cut
            && let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            // The cut fell into a character.
            bytes.truncate(error.valid_up_to());
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => Err(Error::invalid_argument(format!(
                "reading `{}`: line {} is not UTF-8 text, so the file is taken as binary",
                self.place,
                self.line - 1
            ))
            .with_code("binary-file")),
        }
    }

    fn too_far(&self) -> Error {
        let message = format!(
            "reading `{}`: time ran out at line {}; the file is too long to go that far",
            self.place, self.line
        );
        Error::limit_exceeded(message).with_code("out-of-time")
    }
}

/// The error for a file that is not text.
pub(crate) fn not_text(place: &Place, size: u64) -> Error {
    Error::invalid_argument(format!("`{place}` is a binary file of {size} bytes, not UTF-8 text"))
        .with_code("binary-file")
}
