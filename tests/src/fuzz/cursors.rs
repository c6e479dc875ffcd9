//! Cursors, as clients give them back.

use mainstay_protocol::{
    Seq,
    cursor::{Cursor, StoreEpoch},
};

use super::SHORT;

/// A text is refused, or it is exactly what the cursor that it means looks like.
#[test]
fn any_text() {
    bolero::check!().with_iterations(SHORT).for_each(|input: &[u8]| {
        let text = String::from_utf8_lossy(input);
        if let Ok(cursor) = text.parse::<Cursor>() {
            assert_eq!(cursor.to_string(), text);
        }
    });
}

/// Any cursor comes back as it went; one that was changed anywhere is refused.
#[test]
fn any_cursor() {
    type Parts = (u128, u16, u64, u32, u8, u8);
    bolero::check!().with_iterations(SHORT).with_type::<Parts>().for_each(|&(epoch, shard, seq, check, at, with)| {
        let seq = Seq(seq >> 1);
        let cursor = Cursor { epoch: StoreEpoch(epoch.to_be_bytes()), shard, seq, check: check.to_be_bytes() };
        let text = cursor.to_string();
        assert_eq!(text.parse(), Ok(cursor));
        let mut changed = text.clone().into_bytes();
        let at = usize::from(at) % changed.len();
        changed[at] = with;
        if let Ok(changed) = String::from_utf8(changed)
            && changed != text
        {
            assert!(changed.parse::<Cursor>().is_err(), "{text} became {changed}");
        }
    });
}
