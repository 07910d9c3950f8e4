//! Words and signs of a GOAL text, one at a time, whatever the length of its lines.

use crate::refused::Refused;
use crate::text::quoted;
use std::io::{ErrorKind, Read};

/// Part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word: [`Scanner::word`].
    Word,
    /// One of the signs `:`, `{` and `}`, or a `/` that starts no comment.
    Sign(u8),
    /// The end of a line.
    NewLine,
    /// The end of the text.
    End,
}

/// Longest word.
const WORD_MAX: usize = 255;

/// `[byte]`: whether it ends a word.
const ENDS_WORD: [bool; 256] = {
    let (mut ends, signs, mut i) = ([false; 256], b" \t\r\n:{}/", 0);
    while i < signs.len() {
        ends[signs[i] as usize] = true;
        i += 1;
    }
    ends
};

/// Splits a text into tokens. Blanks and comments are skipped.
pub(super) struct Scanner<'a, R> {
    file: &'a str,
    input: R,
    /// Bytes read ahead: `chunk[at..end]` is still to be split.
    chunk: Box<[u8]>,
    at: usize,
    end: usize,
    /// The line that the next byte is on.
    line: u64,
    /// The line that the last token is on.
    word_line: u64,
    /// Where the last word starts in `chunk`. It ends at `word_end`.
    word: usize,
    word_end: usize,
}

impl<'a, R: Read> Scanner<'a, R> {
    pub(super) fn new(file: &'a str, input: R) -> Scanner<'a, R> {
        let chunk = vec![0; 1 << 16].into();
        Scanner { file, input, chunk, at: 0, end: 0, line: 1, word_line: 1, word: 0, word_end: 0 }
    }

    /// The last token, if it is a word.
    pub(super) fn word(&self) -> &[u8] {
        &self.chunk[self.word..self.word_end]
    }

    /// Line of the last token, from 1.
    pub(super) fn line_of_last(&self) -> u64 {
        self.word_line
    }

    /// Refuses the last token.
    pub(super) fn refuse(&self, problem: impl std::fmt::Display) -> Refused {
        self.at_line(self.word_line, problem)
    }

    /// Refuses a line.
    pub(super) fn at_line(&self, line: u64, problem: impl std::fmt::Display) -> Refused {
        Refused::line(self.file, line, problem)
    }

    /// Splits off the next token.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Token, Refused> {
        loop {
            self.word_line = self.line;
            let Some(byte) = self.peek()? else { return Ok(Token::End) };
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    return Ok(Token::NewLine);
                }
                b':' | b'{' | b'}' => {
                    self.at += 1;
                    return Ok(Token::Sign(byte));
                }
                b'/' => {
                    self.at += 1;
                    match self.peek()? {
                        Some(b'/') => self.skip_line()?,
                        // A comment over several lines ends a line, as what it stands between is on two.
                        Some(b'*') if self.skip_comment()? => return Ok(Token::NewLine),
                        Some(b'*') => {}
                        _ => return Ok(Token::Sign(b'/')),
                    }
                }
                _ => return self.read_word(),
            }
        }
    }

    /// Returns the next byte without passing it.
    #[inline]
    fn peek(&mut self) -> Result<Option<u8>, Refused> {
        if self.at == self.end && !self.fill(0)? {
            return Ok(None);
        }
        Ok(Some(self.chunk[self.at]))
    }

    /// Reads the next bytes after the last `kept` ones, which move to the front of the chunk. Returns whether there are
    /// any.
    #[cold]
    fn fill(&mut self, kept: usize) -> Result<bool, Refused> {
        self.chunk.copy_within(self.end - kept..self.end, 0);
        (self.at, self.end) = (kept, kept);
        loop {
            match self.input.read(&mut self.chunk[kept..]) {
                Ok(length) => {
                    self.end += length;
                    return Ok(length > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Refused::line(self.file, self.line, format_args!("cannot be read: {error}"))),
            }
        }
    }

    fn read_word(&mut self) -> Result<Token, Refused> {
        self.word = self.at;
        loop {
            let rest = &self.chunk[self.at..self.end];
            let length = rest.iter().position(|byte| ENDS_WORD[*byte as usize]).unwrap_or(rest.len());
            self.at += length;
            self.word_end = self.at;
            let word = self.at - self.word;
            if word > WORD_MAX {
                let word = quoted(self.word());
                return Err(self.refuse(format_args!("{word}: expected a word of at most {WORD_MAX} bytes")));
            }
            if self.at < self.end {
                return Ok(Token::Word);
            }
            let more = self.fill(word)?;
            (self.word, self.word_end) = (0, self.at);
            if !more {
                return Ok(Token::Word);
            }
        }
    }

    /// Skips the rest of a line, but not its end.
    fn skip_line(&mut self) -> Result<(), Refused> {
        loop {
            let rest = &self.chunk[self.at..self.end];
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                self.at += length;
                return Ok(());
            }
            self.at = self.end;
            if !self.fill(0)? {
                return Ok(());
            }
        }
    }

    /// Skips a comment from its `*` on. Returns whether it ends on a later line.
    fn skip_comment(&mut self) -> Result<bool, Refused> {
        self.at += 1;
        let mut star = false;
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.refuse("a comment starts here: expected its end, \"*/\""));
            };
            self.at += 1;
            match byte {
                b'/' if star => return Ok(self.line > self.word_line),
                b'\n' => self.line += 1,
                _ => {}
            }
            star = byte == b'*';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &[u8]) -> Result<Vec<String>, Refused> {
        let mut scanner = Scanner::new("t", text);
        let mut found = Vec::new();
        loop {
            found.push(match scanner.next()? {
                Token::Word => String::from_utf8_lossy(scanner.word()).into_owned(),
                Token::Sign(sign) => (sign as char).to_string(),
                Token::NewLine => "|".into(),
                Token::End => return Ok(found),
            });
        }
    }

    #[test]
    fn a_text_is_split_at_blanks_signs_and_comments() {
        let text = b"rank 0{\r\na:calc\t5// {\n/* x ** / \n */b / */*c*/d";
        assert_eq!(tokens(text).expect("valid").join(" "), "rank 0 { | a : calc 5 | | b / * d");
        let error = tokens(b"\n/* /* \n\n").expect_err("no end").to_string();
        assert_eq!(error, "t:2: a comment starts here: expected its end, \"*/\"");
    }

    #[test]
    fn words_cross_chunks_and_have_a_limit() {
        let text = [vec![b' '; (1 << 16) - 2], b"word\n".to_vec()].concat();
        assert_eq!(tokens(&text).expect("valid"), ["word", "|"]);
        let error = tokens(&[b'x'; 256]).expect_err("long").to_string();
        assert!(error.ends_with("...\": expected a word of at most 255 bytes"), "{error}");
        tokens(&[b'x'; 255]).expect("not too long");
    }

    /// A text that cannot be read to its end.
    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk on fire"))
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = Scanner::new("t", Broken).next().expect_err("broken");
        assert_eq!(error.to_string(), "t:1: cannot be read: disk on fire");
    }
}
