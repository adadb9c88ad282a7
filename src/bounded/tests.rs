use super::*;
use std::collections::VecDeque;

fn keys(count: u32) -> Vec<Key> {
    let keyer = Keyer::new();
    (0..count).map(|n| keyer.key(0, &[&n.to_le_bytes()])).collect()
}

#[test]
fn the_least_recently_used_entry_goes_and_only_when_full() {
    let key = keys(4);
    let mut map = Bounded::new(3);
    for (n, key) in key.iter().take(3).enumerate() {
        assert_eq!(map.insert(*key, n), None, "not full yet");
    }
    assert_eq!(map.get(key[0]), Some(&mut 0), "0 is used again");
    assert_eq!(map.insert(key[3], 3), Some(1), "so 1 goes");
    assert_eq!(map.len(), 3);
    assert_eq!(map.get(key[1]), None);
    assert_eq!(map.insert(key[0], 10), Some(0), "a key that is there evicts nobody");
    assert_eq!(map.len(), 3);
}

#[test]
fn peek_does_not_count_as_use() {
    let key = keys(3);
    let mut map = Bounded::new(2);
    map.insert(key[0], 0);
    map.insert(key[1], 1);
    assert_eq!(map.peek(key[0]), Some(&0));
    assert_eq!(map.insert(key[2], 2), Some(0));
}

#[test]
fn a_value_is_made_once_and_tells_who_had_to_go() {
    let key = keys(2);
    let mut map = Bounded::new(1);
    let (value, evicted) = map.get_or_insert_with(key[0], || 5);
    *value += 1;
    assert_eq!(evicted, None);
    assert_eq!(map.get_or_insert_with(key[0], || unreachable!()), (&mut 6, None));
    assert_eq!(map.get_or_insert_with(key[1], || 9), (&mut 9, Some(6)));
    assert_eq!(map.remove(key[1]), Some(9));
    assert!(map.is_empty());
}

#[test]
fn a_capacity_of_nothing_is_one() {
    let key = keys(2);
    let mut map = Bounded::new(0);
    assert_eq!(map.insert(key[0], 0), None);
    assert_eq!(map.insert(key[1], 1), Some(0));
    assert_eq!(map.len(), 1);
}

/// Against a list that is searched from end to end: same answers, same order, 50,000 random steps.
#[test]
fn the_order_is_exact() {
    const CAPACITY: usize = 40;
    let key = keys(100);
    let mut map = Bounded::new(CAPACITY);
    let mut list: VecDeque<(Key, u32)> = VecDeque::new();
    let mut draw = [0u8; 2];
    for step in 0..50_000u32 {
        random::fill(&mut draw);
        let wanted = key[usize::from(draw[0]) % key.len()];
        let at = list.iter().position(|(key, _)| *key == wanted);
        match draw[1] % 4 {
            0 | 1 => {
                let old = at.and_then(|at| list.remove(at)).map(|(_, value)| value);
                let evicted =
                    if old.is_none() && list.len() == CAPACITY { list.pop_back().map(|(_, value)| value) } else { old };
                list.push_front((wanted, step));
                assert_eq!(map.insert(wanted, step), evicted);
            }
            2 => {
                let found = at.and_then(|at| list.remove(at));
                if let Some(found) = found {
                    list.push_front(found);
                }
                assert_eq!(map.get(wanted).copied(), found.map(|(_, value)| value));
            }
            _ => assert_eq!(map.remove(wanted), at.and_then(|at| list.remove(at)).map(|(_, value)| value)),
        }
        assert_eq!(map.len(), list.len());
    }
    let order: Vec<_> = map.iter().map(|(key, value)| (key, *value)).collect();
    assert_eq!(order, Vec::from(list));
}

#[test]
fn keys_depend_on_the_secret_the_purpose_and_where_parts_end() {
    let one = Keyer::new();
    assert_eq!(one.key(0, &[b"a", b"b"]), one.key(0, &[b"a", b"b"]));
    assert_eq!(one.key(0, &[b"a", b"b"]), one.clone().key(0, &[b"a", b"b"]));
    assert_ne!(one.key(0, &[b"ab", b"c"]), one.key(0, &[b"a", b"bc"]));
    assert_ne!(one.key(0, &[b"a"]), one.key(1, &[b"a"]));
    assert_ne!(one.key(0, &[b"a"]), one.key(0, &[b"a", b""]));
    assert_ne!(one.key(0, &[b"a"]), Keyer::new().key(0, &[b"a"]));
}
