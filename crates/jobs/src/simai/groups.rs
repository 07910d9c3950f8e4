//! Ranks are numbered as in Megatron and SimAI: tensor parallelism is innermost, then data parallelism, and the stages of
//! the pipeline are outermost. So rank r is member r mod TP of its tensor group, and ranks of one tensor group are
//! neighbours. Expert groups divide the data groups: the first EP members are one, and so on.
//!
//! Neighbours are an inner group, and one rank of each inner group of a stage is an outer group. Under
//! `HYBRID_MODEL_DATA` the two change places: data parallelism is innermost.

/// Group that a communication is within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Neighbours: of tensor parallelism, except under `HYBRID_MODEL_DATA`.
    Inner,
    /// One rank of each inner group: of data parallelism, except under `HYBRID_MODEL_DATA`.
    Outer,
    /// Of expert parallelism.
    Expert,
    /// Of data parallelism of the experts.
    DataOfExperts,
    /// All ranks of a stage.
    All,
}

/// How ranks are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Ranks of an inner group.
    pub inner: u32,
    /// Ranks of an outer group.
    pub outer: u32,
    /// Ranks of an expert group.
    pub expert: u32,
    /// Stages of the pipeline.
    pub stages: u32,
}

impl Division {
    /// Divides `ranks` ranks.
    ///
    /// # Errors
    /// Which product does not divide which number.
    pub fn new(ranks: u32, inner: u32, expert: u32, stages: u32) -> Result<Division, String> {
        let each = u64::from(inner) * u64::from(stages);
        if !u64::from(ranks).is_multiple_of(each) {
            return Err(format!(
                "{ranks} ranks are not divided by groups of {inner} and {stages} stages: expected a multiple of {each}"
            ));
        }
        let outer = (u64::from(ranks) / each) as u32;
        if !outer.is_multiple_of(expert) {
            return Err(format!(
                "{outer} ranks of a data group are not divided by ep: {expert}: expected a divisor of {outer}"
            ));
        }
        Ok(Division { inner, outer, expert, stages })
    }

    /// Number of ranks.
    pub fn ranks(self) -> u32 {
        self.of_stage() * self.stages
    }

    /// Number of ranks of a stage.
    pub fn of_stage(self) -> u32 {
        self.inner * self.outer
    }

    /// Number of ranks of a group.
    pub fn size(self, group: Group) -> u32 {
        match group {
            Group::Inner => self.inner,
            Group::Outer => self.outer,
            Group::Expert => self.expert,
            Group::DataOfExperts => self.outer / self.expert,
            Group::All => self.of_stage(),
        }
    }

    /// Stage of a rank.
    pub fn stage(self, rank: u32) -> u32 {
        rank / self.of_stage()
    }

    /// The same rank of another stage.
    pub fn at_stage(self, rank: u32, stage: u32) -> u32 {
        rank % self.of_stage() + stage * self.of_stage()
    }

    /// Members of a group that `rank` is in, in rising order, and its place among them.
    pub fn members(self, rank: u32, group: Group) -> (Vec<u32>, usize) {
        let (within, block) = (rank % self.inner, rank / self.inner % self.outer);
        let first = self.stage(rank) * self.of_stage();
        let at = |block: u32, within: u32| first + within + self.inner * block;
        let members: Vec<u32> = match group {
            Group::Inner => (0..self.inner).map(|within| at(block, within)).collect(),
            Group::Outer => (0..self.outer).map(|block| at(block, within)).collect(),
            Group::Expert => {
                let start = block / self.expert * self.expert;
                (start..start + self.expert).map(|block| at(block, within)).collect()
            }
            Group::DataOfExperts => {
                (block % self.expert..self.outer).step_by(self.expert as usize).map(|block| at(block, within)).collect()
            }
            Group::All => (first..first + self.of_stage()).collect(),
        };
        let place = members.iter().position(|member| *member == rank).expect("a rank is in its groups");
        (members, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_groups_are_neighbours_and_stages_are_outermost() {
        let all = Division::new(32, 4, 2, 2).expect("it divides");
        assert_eq!((all.outer, all.ranks(), all.stage(15), all.stage(16)), (4, 32, 0, 1));
        let groups = [
            (Group::Inner, vec![20, 21, 22, 23], 2),
            (Group::Outer, vec![18, 22, 26, 30], 1),
            (Group::Expert, vec![18, 22], 1),
            (Group::DataOfExperts, vec![22, 30], 0),
            (Group::All, (16..32).collect(), 6),
        ];
        for (group, members, place) in groups {
            assert_eq!(all.size(group) as usize, members.len());
            assert_eq!(all.members(22, group), (members, place));
        }
        assert_eq!((all.at_stage(22, 0), all.at_stage(6, 1)), (6, 22));
        let said = Division::new(30, 4, 2, 2).expect_err("30");
        assert_eq!(said, "30 ranks are not divided by groups of 4 and 2 stages: expected a multiple of 8");
        let said = Division::new(32, 4, 3, 2).expect_err("3");
        assert_eq!(said, "4 ranks of a data group are not divided by ep: 3: expected a divisor of 4");
    }
}
