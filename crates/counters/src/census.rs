//! The exact number of flows with data at each port of a switch, for schemes whose switch does not know it.
//!
//! Each packet that waits is counted when it enters and when it leaves. So the table of counts is made for speed: one
//! probe for each, and no branch that a processor cannot predict.

use backwater_types::PortId;

/// Number of flows with data at each port.
#[derive(Clone, Debug)]
pub struct Census {
    packets: PacketCounts,
    /// `[port]`: flows with data.
    flows: Vec<u32>,
}

impl Census {
    /// Creates a census of `ports` ports.
    pub fn new(ports: usize) -> Census {
        Census { packets: PacketCounts::new(), flows: vec![0; ports] }
    }

    /// Returns the number of flows with data at `port`.
    pub fn flows(&self, port: PortId) -> u32 {
        self.flows[port as usize]
    }

    /// Counts a packet that waits at `port`.
    #[inline(always)]
    pub fn enter(&mut self, port: PortId, flow: u32) {
        self.flows[port as usize] += self.packets.add(key(port, flow)) as u32;
    }

    /// Counts a packet that left `port`. A packet that passed the port was never counted: it leaves no trace.
    #[inline(always)]
    pub fn leave(&mut self, port: PortId, flow: u32) {
        let flows = &mut self.flows[port as usize];
        if *flows > 0 {
            *flows -= self.packets.remove(key(port, flow)) as u32;
        }
    }
}

#[inline(always)]
fn key(port: PortId, flow: u32) -> u64 {
    u64::from(port) << 32 | u64::from(flow)
}

/// Fewest places of a table.
const MIN_PLACES: usize = 64;

/// Key of a free place.
const FREE: u64 = u64::MAX;

/// Packets by key: open addressing with linear probing, at most half full.
///
/// A key without packets keeps its place until the table is made anew. So whether a packet is the first or the last of
/// its key, which no processor can predict, decides no branch.
#[derive(Clone, Debug)]
struct PacketCounts {
    /// Key and packets.
    places: Vec<(u64, u32)>,
    /// Memory of the table before this one, for the next one: so a table that keeps its size allocates nothing.
    spare: Vec<(u64, u32)>,
    /// Places that are not free.
    used: usize,
    /// Bits of a hash that are not its place.
    shift: u32,
}

impl PacketCounts {
    /// Creates an empty table.
    fn new() -> PacketCounts {
        let mut counts = PacketCounts { places: Vec::new(), spare: Vec::new(), used: 0, shift: 0 };
        counts.make_anew();
        counts
    }

    /// Returns the place of `key`, or the free place that it would get.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mut place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.places[place].0 != key && self.places[place].0 != FREE {
            place = (place + 1) & (self.places.len() - 1);
        }
        place
    }

    /// Adds a packet. Returns whether it is the only one of its key.
    #[inline(always)]
    fn add(&mut self, key: u64) -> bool {
        let place = self.place(key);
        let (old, packets) = self.places[place];
        self.places[place] = (key, packets + 1);
        self.used += (old == FREE) as usize;
        if self.used > self.places.len() / 2 {
            self.make_anew();
        }
        packets == 0
    }

    /// Removes a packet, if its key has any. Returns whether it was the last one.
    #[inline(always)]
    fn remove(&mut self, key: u64) -> bool {
        let place = self.place(key);
        let packets = &mut self.places[place].1;
        let last = *packets == 1;
        *packets = packets.saturating_sub(1);
        last
    }

    /// Makes a table of the keys with packets, with four to eight places for each.
    #[cold]
    #[inline(never)]
    fn make_anew(&mut self) {
        self.used = self.places.iter().filter(|(_, packets)| *packets > 0).count();
        let places = (4 * self.used).next_power_of_two().max(MIN_PLACES);
        self.shift = u64::BITS - places.trailing_zeros();
        std::mem::swap(&mut self.places, &mut self.spare);
        self.places.clear();
        self.places.resize(places, (FREE, 0));
        for i in 0..self.spare.len() {
            let (key, packets) = self.spare[i];
            if packets > 0 {
                let place = self.place(key);
                self.places[place] = (key, packets);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::hash::Stream;
    use std::collections::BTreeMap;

    /// Beside a map of the standard library: few flows, which come back, and many, for which the table grows.
    #[test]
    fn a_census_counts_as_a_map_does() {
        for flows in [5, 300, 20_000] {
            let (mut census, mut beside) = (Census::new(3), BTreeMap::<(PortId, u32), u32>::new());
            let mut stream = Stream::new(1, 2, flows);
            let mut draw = |below: u64| ((u64::from(stream.next_u32()) * below) >> 32) as u32;
            for step in 0..100_000 {
                let (port, flow) = (draw(3) as PortId, draw(flows));
                // The table fills, then empties.
                if draw(10) < if step < 50_000 { 7 } else { 2 } {
                    census.enter(port, flow);
                    *beside.entry((port, flow)).or_default() += 1;
                } else {
                    census.leave(port, flow);
                    if let Some(packets) = beside.get_mut(&(port, flow)) {
                        *packets -= 1;
                        if *packets == 0 {
                            beside.remove(&(port, flow));
                        }
                    }
                }
                if step % 97 == 0 || flows == 5 {
                    for port in 0..3 {
                        let waiting = beside.range((port, 0)..=(port, u32::MAX)).count();
                        assert_eq!(census.flows(port) as usize, waiting, "step {step}, port {port}");
                    }
                }
            }
            assert!(census.packets.places.len() >= 2 * beside.len().max(MIN_PLACES / 2));
        }
    }

    /// A table that was large holds few places again once few flows wait.
    #[test]
    fn a_census_forgets_the_flows_that_have_gone() {
        let mut census = Census::new(1);
        (0..10_000).for_each(|flow| census.enter(0, flow));
        (0..10_000).for_each(|flow| census.leave(0, flow));
        let most = census.packets.places.len();
        assert!(most >= 20_000 && census.flows(0) == 0);
        for flow in 10_000..100_000 {
            census.enter(0, flow);
            assert_eq!(census.flows(0), 1);
            census.leave(0, flow);
        }
        assert_eq!(census.packets.places.len(), MIN_PLACES, "{most} at most");
        let memory = [census.packets.places.as_ptr(), census.packets.spare.as_ptr()];
        for flow in 0..1000 {
            census.enter(0, flow);
            census.leave(0, flow);
            assert!(memory.contains(&census.packets.places.as_ptr()), "a table of the same size allocates nothing");
        }
    }
}
