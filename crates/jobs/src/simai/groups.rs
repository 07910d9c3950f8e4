//! Which ranks communicate.
//!
//! Ranks are numbered as in Megatron and SimAI: tensor parallelism is innermost, then data parallelism, and the stages of
//! the pipeline are outermost. So rank r is member r mod TP of its tensor group, and ranks of one tensor group are
//! neighbours. Expert groups divide the data groups: the first EP members are one, and so on.

use super::text::Group;

/// How ranks are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Ranks of a tensor group.
    pub tensor: u32,
    /// Ranks of a data group.
    pub data: u32,
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
    pub fn new(ranks: u32, tensor: u32, expert: u32, stages: u32) -> Result<Division, String> {
        let each = u64::from(tensor) * u64::from(stages);
        if !u64::from(ranks).is_multiple_of(each) {
            return Err(format!(
                "{ranks} ranks are not divided by {tensor} of a tensor group and {stages} stages: expected a multiple of {each}"
            ));
        }
        let data = (u64::from(ranks) / each) as u32;
        if !data.is_multiple_of(expert) {
            return Err(format!(
                "{data} ranks of a data group are not divided by ep: {expert}: expected a divisor of {data}"
            ));
        }
        Ok(Division { tensor, data, expert, stages })
    }

    /// Number of ranks.
    pub fn ranks(self) -> u32 {
        self.tensor * self.data * self.stages
    }

    /// Stage of a rank.
    pub fn stage(self, rank: u32) -> u32 {
        rank / (self.tensor * self.data)
    }

    /// The same rank of another stage.
    pub fn at_stage(self, rank: u32, stage: u32) -> u32 {
        rank % (self.tensor * self.data) + stage * self.tensor * self.data
    }

    /// Members of a group that `rank` is in, in rising order, and its place among them.
    pub fn members(self, rank: u32, group: Group) -> (Vec<u32>, usize) {
        let (within, data) = (rank % self.tensor, rank / self.tensor % self.data);
        let at = |data: u32, within: u32| within + self.tensor * (data + self.data * self.stage(rank));
        let members: Vec<u32> = match group {
            Group::Tensor => (0..self.tensor).map(|within| at(data, within)).collect(),
            Group::Data => (0..self.data).map(|data| at(data, within)).collect(),
            Group::Expert => {
                let first = data / self.expert * self.expert;
                (first..first + self.expert).map(|data| at(data, within)).collect()
            }
            Group::DataOfExperts => {
                (data % self.expert..self.data).step_by(self.expert as usize).map(|data| at(data, within)).collect()
            }
        };
        let place = members.iter().position(|member| *member == rank).expect("a rank is in its groups");
        (members, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensor_groups_are_neighbours_and_stages_are_outermost() {
        let all = Division::new(32, 4, 2, 2).expect("it divides");
        assert_eq!((all.data, all.ranks(), all.stage(15), all.stage(16)), (4, 32, 0, 1));
        assert_eq!(all.members(22, Group::Tensor), (vec![20, 21, 22, 23], 2));
        assert_eq!(all.members(22, Group::Data), (vec![18, 22, 26, 30], 1));
        assert_eq!(all.members(22, Group::Expert), (vec![18, 22], 1));
        assert_eq!(all.members(22, Group::DataOfExperts), (vec![22, 30], 0));
        assert_eq!((all.at_stage(22, 0), all.at_stage(6, 1)), (6, 22));
        let said = Division::new(30, 4, 2, 2).expect_err("30");
        assert_eq!(said, "30 ranks are not divided by 4 of a tensor group and 2 stages: expected a multiple of 8");
        let said = Division::new(32, 4, 3, 2).expect_err("3");
        assert_eq!(said, "4 ranks of a data group are not divided by ep: 3: expected a divisor of 4");
    }
}
