//! The policy says which loop runs the rows, and among which ranks each pass communicates.
//!
//! Source: `Workload.cc` of ASTRA-sim 1.0 and SimAI (aliyun/SimAI cef83f9), the functions `iterate_*` and
//! `decode_involved_dimensions`.
//!
//! | policy | forward and gradient of the input | gradient of the weights |
//! |---|---|---|
//! | `MICRO` | not run | all ranks |
//! | `DATA` | none | all ranks |
//! | `MODEL` | all ranks | none |
//! | `HYBRID_DATA_MODEL` | neighbours: the first dimension of the network | the other dimensions |
//! | `HYBRID_MODEL_DATA` | all dimensions but the first | neighbours |
//! | `HYBRID_CUSTOMIZED` | as the policy of the row says, which is one of the four before | likewise |
//! | `HYBRID_TRANSFORMER`, `HYBRID_TRANSFORMER_FWD_IN_BCKWD` | tensor group | data group |
//! | `HYBRID_DLRM`, `HYBRID_DLRM_ENHANCED` | the first row's all-to-all: all ranks | all ranks |
//! | `DISTRIBUTED_INFERENCE` | forward: all ranks; backward is not run | not run |
//!
//! A suffix `_EP` or `_DP_EP` of a type names the group under the two `HYBRID_TRANSFORMER`s, as in SimAI.

use super::groups::Group;
use crate::collective::Kind;

/// Policy of a workload or of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `MICRO`.
    Micro,
    /// `DATA`.
    Data,
    /// `MODEL`.
    Model,
    /// `HYBRID_DATA_MODEL`.
    HybridDataModel,
    /// `HYBRID_MODEL_DATA`.
    HybridModelData,
    /// `HYBRID_CUSTOMIZED`.
    HybridCustomized,
    /// `HYBRID_TRANSFORMER`.
    Transformer,
    /// `HYBRID_TRANSFORMER_FWD_IN_BCKWD`.
    TransformerForwardInBackward,
    /// `HYBRID_DLRM`.
    Dlrm,
    /// `HYBRID_DLRM_ENHANCED`.
    DlrmEnhanced,
    /// `DISTRIBUTED_INFERENCE`.
    DistributedInference,
}

/// Every policy and its name in a file.
pub const POLICIES: [(&str, Policy); 11] = [
    ("MICRO", Policy::Micro),
    ("DATA", Policy::Data),
    ("MODEL", Policy::Model),
    ("HYBRID_DATA_MODEL", Policy::HybridDataModel),
    ("HYBRID_MODEL_DATA", Policy::HybridModelData),
    ("HYBRID_CUSTOMIZED", Policy::HybridCustomized),
    ("HYBRID_TRANSFORMER", Policy::Transformer),
    ("HYBRID_TRANSFORMER_FWD_IN_BCKWD", Policy::TransformerForwardInBackward),
    ("HYBRID_DLRM", Policy::Dlrm),
    ("HYBRID_DLRM_ENHANCED", Policy::DlrmEnhanced),
    ("DISTRIBUTED_INFERENCE", Policy::DistributedInference),
];

/// Policies that a row of `HYBRID_CUSTOMIZED` may have.
pub(super) const OF_ROWS: [Policy; 4] = [Policy::Data, Policy::Model, Policy::HybridDataModel, Policy::HybridModelData];

/// The loop that runs the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// Only gradients of weights are communicated, row by row. ASTRA-sim does so for the first row alone; AICB, which writes
    /// such files, measures all.
    Micro,
    /// Backward: the gradient of the weights, then that of the input, of all rows but the first.
    Data,
    /// Backward: the gradient of the input is communicated beside the computation of that of the weights, of all rows
    /// but the first.
    Overlapped,
    /// Backward: the gradient of the input is communicated before that of the weights is computed.
    Blocking,
    /// Forward goes on beside the first row's all-to-all, up to the last row of the bottom. Backward as `Data`, with the
    /// first row's all-to-all beside it. Unless `enhanced`, the end of the iteration waits for that.
    Dlrm {
        /// Whether an iteration ends before the last all-to-all has.
        enhanced: bool,
    },
    /// Forward alone.
    Forward,
}

/// A pass through a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Forward.
    Forward,
    /// Gradient of the input.
    Input,
    /// Gradient of the weights.
    Weights,
}

impl Policy {
    /// Name in a file.
    pub fn name(self) -> &'static str {
        POLICIES.iter().find(|(_, policy)| *policy == self).expect("every policy is listed").0
    }

    /// The loop that runs the rows.
    pub fn runs(self) -> Loop {
        match self {
            Policy::Micro => Loop::Micro,
            Policy::Data => Loop::Data,
            Policy::Model | Policy::HybridDataModel | Policy::HybridModelData | Policy::HybridCustomized => {
                Loop::Overlapped
            }
            Policy::Transformer | Policy::TransformerForwardInBackward => Loop::Blocking,
            Policy::Dlrm => Loop::Dlrm { enhanced: false },
            Policy::DlrmEnhanced => Loop::Dlrm { enhanced: true },
            Policy::DistributedInference => Loop::Forward,
        }
    }

    /// Whether the policy reads groups of tensor and expert parallelism and stages from the header.
    pub(super) fn has_groups(self) -> bool {
        self.runs() == Loop::Blocking
    }

    /// Whether the passes of row `row` run in a direction at all.
    pub(super) fn has(self, direction: Direction) -> bool {
        match self.runs() {
            Loop::Micro => direction == Direction::Weights,
            Loop::Forward => direction == Direction::Forward,
            _ => true,
        }
    }

    /// Group of a communication without suffix; `None` if the policy never runs it.
    pub(super) fn group(self, direction: Direction, row: usize, kind: Kind) -> Option<Group> {
        let weights = direction == Direction::Weights;
        match self {
            Policy::Micro | Policy::Data => weights.then_some(Group::All),
            Policy::Model => (!weights).then_some(Group::All),
            Policy::DistributedInference => (direction == Direction::Forward).then_some(Group::All),
            Policy::HybridDataModel | Policy::Transformer | Policy::TransformerForwardInBackward => {
                Some(if weights { Group::Outer } else { Group::Inner })
            }
            Policy::HybridModelData => Some(if weights { Group::Inner } else { Group::Outer }),
            Policy::Dlrm | Policy::DlrmEnhanced => {
                let runs = match direction {
                    Direction::Forward => row == 0 && kind == Kind::AllToAll,
                    Direction::Input => row == 0,
                    Direction::Weights => true,
                };
                runs.then_some(Group::All)
            }
            Policy::HybridCustomized => None,
        }
    }
}
