//! The command line. Help texts are the reference that people have at hand, so they hold examples, variables and exit codes.

mod journal;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mainstay_protocol::{Digest, Ordinal, PluginName, RouteName, SessionId, blob::BlobReference};

pub(crate) use journal::{BackupArgs, FeedArgs, JournalCommand, RestoreArgs, StatsArgs, VerifyArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0    done; for a one-shot `run`: the turn completed
  1    the turn failed, was rejected or was aborted; or what was named does not exist
  2    the command line is wrong
  3    a manifest, a plugin or a package has a problem
  4    the host or the data folder can't be used
  5    an approval waits, and nobody here can answer it; it stays pending
  6    the journal or a backup is damaged
  130  interrupted by Ctrl-C

Environment:
  MAINSTAY_MANIFEST, MAINSTAY_DATA_DIR, MAINSTAY_SESSION, MAINSTAY_APPROVE
                    stand in for the options of the same names
  MAINSTAY_PLUGINS  the folder with the bundled plugins, if it is not beside the program
  MAINSTAY_LOG      what to log to standard error: `warn` (default), `info`,
                    `mainstay_driver=debug`
  NO_COLOR          any value: no colors

Where things are:
  Without --manifest, `mainstay.toml` in the current folder counts; without that, an empty
  manifest with all defaults.
  Without --data-dir, the manifest's `host.data_dir` counts, relative to the manifest's folder;
  without a manifest it is `mainstay-data` in the current folder.
  One host at a time has a data folder; further commands attach to it by its control socket.";

const EXAMPLES: &str = "\
Examples:
  mainstay run \"What is in this folder?\"            one message, one answer, in a new session
  mainstay run --session notes                      a conversation in the session `notes`
  mainstay run --session notes --approve all < q.txt
  mainstay session events notes                     what happened, and which code did it
  mainstay journal feed --follow                    what happens in all sessions, live
  mainstay plugin swap files ./files-0.2.0          another build, in a running host
  mainstay check                                    what the manifest grants, before anything runs
";

/// A host for durable AI-agent sessions whose models, tools and middleware are sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(name = "mainstay", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n{EXIT_CODES}"))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Which installation.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// The operator's manifest [default: mainstay.toml in the current folder, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = "MAINSTAY_MANIFEST", help_heading = "Where")]
    pub(crate) manifest: Option<PathBuf>,
    /// The data folder [default: what the manifest says, or mainstay-data]
    #[arg(long, global = true, value_name = "DIR", env = "MAINSTAY_DATA_DIR", help_heading = "Where")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // Its help is that of its arguments.
    Run(RunArgs),
    /// Look at sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Look after the journal: everything that is durable
    #[command(subcommand)]
    Journal(JournalCommand),
    /// Look at plugins, and swap them
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Check a manifest and its plugins, without starting anything
    Check(CheckArgs),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  mainstay completions bash > ~/.local/share/bash-completion/completions/mainstay"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Talk to a session: one message, or a conversation.
///
/// Attaches to the host that has the data folder, or starts one in this process for as long as it is needed. With a prompt,
/// the command ends when the turn of that message has ended. Without one it is a conversation on a terminal; when standard
/// input is not a terminal, all of it is the prompt, and when that is empty too, the command takes up what the session has
/// not finished and ends with it.
///
/// The model's text goes to standard output, everything else to standard error. Ctrl-C interrupts the running turn; a second
/// Ctrl-C leaves. What was accepted is durable either way.
///
/// Calls that need a person are asked on the terminal. When standard input is no terminal and --approve is not given, the
/// command prints what waits and exits with code 5; the approval stays pending, and the next `run` of the session asks it
/// again, under the same id.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mainstay run \"Summarise notes.md\"
  mainstay run --session notes \"And the other file?\"
  echo \"Summarise notes.md\" | mainstay run --approve none > summary.txt
  mainstay run --session notes --approve all < /dev/null
      goes on where a killed host stopped
  mainstay run --json \"...\" < answers > events
      answers are lines like {\"approval\": \"ID\", \"answer\": \"approve\"} (or \"deny\", with a
      \"comment\"), or {\"interrupt\": true}")]
pub(crate) struct RunArgs {
    /// What to say [default: a conversation, or standard input when that is no terminal]
    pub(crate) prompt: Option<String>,
    /// The session; created when it does not exist [default: a new one]
    #[arg(long, short, value_name = "ID", env = "MAINSTAY_SESSION")]
    pub(crate) session: Option<SessionId>,
    /// The model route: a new session starts on it, an old one changes to it [default: the manifest's, or the saved one]
    #[arg(long, value_name = "NAME")]
    pub(crate) route: Option<RouteName>,
    /// Require a build of a plugin, by the SHA-256 of its component; the session does not run without it. May be given more
    /// than once; an old session requires from then on just these [default: what the session requires already]
    #[arg(long, value_name = "NAME=SHA256", value_parser = parse_requirement)]
    pub(crate) require: Vec<(PluginName, Digest)>,
    /// What to do with calls that need a person's approval [default: ask on the terminal]
    #[arg(long, value_name = "POLICY", env = "MAINSTAY_APPROVE")]
    pub(crate) approve: Option<Approve>,
    /// Print every event as a line of JSON, and nothing else, on standard output; read answers as lines of JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// How many seconds to wait for a host that has the data folder and does not answer yet
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) wait: u32,
}

/// What to do with calls that need a person's approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Ask on the terminal
    Ask,
    /// Approve all, and say so
    All,
    /// Deny all, and say so
    None,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, newest activity first
    List {
        /// One line of JSON a session
        #[arg(long)]
        json: bool,
        /// How many at most
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Show a session as it stands: its turn, its queue, its pending approvals
    Show {
        /// The session
        session: SessionId,
        /// One JSON document
        #[arg(long)]
        json: bool,
        /// Show the whole transcript too
        #[arg(long)]
        transcript: bool,
    },
    /// Fetch what a session keeps beside its transcript, such as the whole output of a tool that the model got cut
    ///
    /// `session show --transcript` shows the references. The bytes go to standard output as they are; on a terminal only text
    /// does, with control characters made visible.
    #[command(after_help = "Example:\n  mainstay session blob notes blob:2c26b4... --output whole.txt")]
    Blob {
        /// The session
        session: SessionId,
        /// The reference: `blob:` and 64 hexadecimal digits
        reference: BlobReference,
        /// Write the bytes to a file; one that exists is replaced
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Forget a session for good: its records, its transcript, its queue, and all that plugins keep with it
    ///
    /// Asks first; nothing brings the session back, and its id is not used again. A session whose turn runs is not forgotten:
    /// interrupt the turn, or wait for its end. Backups that were made before still hold it.
    ///
    /// What is forgotten is not wiped: its place in the file is used again by and by. To leave no trace, make a backup afterwards,
    /// put it back with `mainstay journal restore --replace`, and remove the old journal that it names.
    #[command(after_help = "Example:\n  mainstay session forget notes --yes")]
    Forget {
        /// The session
        session: SessionId,
        /// Don't ask; needed where there is no terminal
        #[arg(long, short)]
        yes: bool,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print a session's records: what happened, and which plugin build did it
    Events {
        /// The session
        session: SessionId,
        /// One line of JSON a record, with full digests
        #[arg(long)]
        json: bool,
        /// Go on with what happens from now on (needs a running host)
        #[arg(long, short)]
        follow: bool,
        /// Only records after this ordinal
        #[arg(long, value_name = "ORDINAL", default_value = "0", value_parser = parse_ordinal)]
        after: Ordinal,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List plugins: the active ones of the running host, else those of the manifest
    List {
        /// One line of JSON a plugin
        #[arg(long)]
        json: bool,
    },
    /// Look at a package without running it: what it is, what it asks for, what it exports and imports
    Inspect {
        /// A package folder, or a component with its `plugin.toml` beside it
        package: PathBuf,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
    /// Put another build in a plugin's place, in the running host
    ///
    /// Calls in flight finish on the old build; the next step of each session takes the new one. A build that is refused
    /// changes nothing. The swap lasts until the plugin's entry in the manifest changes.
    Swap {
        /// The plugin's name in the manifest
        plugin: PluginName,
        /// A package folder, or a component with its `plugin.toml` beside it
        package: PathBuf,
        /// One JSON document
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_requirement(text: &str) -> Result<(PluginName, Digest), String> {
    let (plugin, sha256) = text.split_once('=').ok_or("write it as NAME=SHA256")?;
    let plugin = PluginName::new(plugin).map_err(|error| error.to_string())?;
    Ok((plugin, sha256.parse().map_err(|error| format!("{error}"))?))
}

fn parse_ordinal(text: &str) -> Result<Ordinal, std::num::ParseIntError> {
    text.parse().map(Ordinal)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_argument_has_help() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            assert!(command.get_about().is_some(), "{}", command.get_name());
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn places_may_stand_on_either_side() {
        for line in [["mainstay", "--data-dir", "d", "check"], ["mainstay", "check", "--data-dir", "d"]] {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!(cli.place.data_dir, Some(PathBuf::from("d")));
        }
    }

    #[test]
    fn a_requirement_names_a_plugin_and_a_digest() {
        let sha256 = "ab".repeat(32);
        let requirement = format!("files={sha256}");
        let cli = Cli::try_parse_from(["mainstay", "run", "--require", &requirement, "hello"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("{cli:?}") };
        assert_eq!(run.require, [(PluginName::new("files").unwrap(), sha256.parse().unwrap())]);
        for bad in ["files", "files=12", "Files=00"] {
            assert!(Cli::try_parse_from(["mainstay", "run", "--require", bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn run_takes_a_prompt_that_looks_like_anything() {
        let cli = Cli::try_parse_from(["mainstay", "run", "-s", "notes", "--approve", "none", "--", "--why?"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("{cli:?}") };
        assert_eq!((run.prompt.as_deref(), run.approve), (Some("--why?"), Some(Approve::None)));
        assert!(Cli::try_parse_from(["mainstay", "run", "--session", "a/b"]).is_err());
    }
}
