//! What a session is about, as those who run it report. Only what means something else than before is a record.

use mainstay_protocol::{
    op::Refusal,
    record::{
        RecordBody,
        v1::{Activity, ActivityChanged},
    },
};

use super::{Draft, Refused, clip};

impl Draft {
    pub(super) fn record_activity(&mut self, activity: Activity, details: Option<String>) -> Result<(), Refused> {
        if activity == Activity::Other {
            return Err(Refusal::Unsupported { what: "this activity".to_owned() }.into());
        }
        let details = details.map(clip).filter(|details| !details.is_empty());
        let changed = ActivityChanged { activity, details };
        if self.state().activity.as_ref() != Some(&changed) {
            self.push(RecordBody::ActivityChanged(changed));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mainstay_protocol::op::MAX_TEXT_BYTES;

    use super::*;
    use crate::{Command, testing::Story};

    #[test]
    fn only_another_meaning_is_a_record() {
        let mut story = Story::new();
        let mut told = |activity, details: Option<&str>| {
            story.told(Command::RecordActivity { activity, details: details.map(str::to_owned) }).len()
        };
        assert_eq!(told(Activity::Idle, None), 1, "the first one says something");
        assert_eq!(told(Activity::Idle, None), 0);
        assert_eq!(told(Activity::Idle, Some("")), 0);
        assert_eq!(told(Activity::Background, None), 1);
        assert_eq!(told(Activity::Background, Some("tests")), 1);
        assert_eq!(told(Activity::Background, Some("tests")), 0);
        assert_eq!(told(Activity::Background, None), 1);
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        assert_eq!(told(Activity::Disconnected, Some(&long)), 1);
        assert_eq!(told(Activity::Disconnected, Some(&long)), 0);
        let kept = story.state.activity().and_then(|activity| activity.details.clone());
        assert_eq!(kept.map(|details| details.len()), Some(MAX_TEXT_BYTES));
        let unknown = Command::RecordActivity { activity: Activity::Other, details: None };
        assert!(matches!(story.tell(unknown), Err(Refused::Op(Refusal::Unsupported { .. }))));
    }
}
