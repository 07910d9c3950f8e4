//! Tables in columns. Each table is defined by one list, which gives the type, unit and meaning of each column, and its
//! value in a row.

use backwater_fabric::ports;
use backwater_scenario::topology::Graph;

/// Name and values of a column.
pub type Column = (&'static str, Values);

/// Values of a column. `u64::MAX` and `NaN` stand for a missing value. Categories are codes into
/// [`categories`](super::tables::categories), with `u16::MAX` for a missing value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Values {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Values {
    /// Returns the name of the type and the values as little-endian bytes.
    pub fn to_bytes(&self) -> (&'static str, Vec<u8>) {
        match self {
            Values::U8(v) => ("u8", v.clone()),
            Values::U16(v) => ("u16", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::U32(v) => ("u32", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::U64(v) => ("u64", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Values::F64(v) => ("f64", v.iter().flat_map(|x| x.to_le_bytes()).collect()),
        }
    }
}

/// Name, type, unit and meaning of a column. Type `cat` is a category, written as a 16-bit code.
pub type ColumnSchema = (&'static str, &'static str, &'static str, &'static str);

/// Name and columns of a table.
pub type TableSchema = (&'static str, &'static [ColumnSchema]);

/// The peer of each port, `[node][port]`: the node at the other end of its link.
pub struct Peers(Vec<Vec<u16>>);

impl Peers {
    /// Collects the peers of all ports of a graph.
    pub fn new(graph: &Graph) -> Peers {
        let of = |(node, links): (usize, Vec<usize>)| links.iter().map(|link| graph.peer(*link, node) as u16).collect();
        Peers(ports(graph).into_iter().enumerate().map(of).collect())
    }

    /// Peer of a port; `None` if the node has no such port.
    pub fn get(&self, node: u32, port: u16) -> Option<u16> {
        self.0[node as usize].get(usize::from(port)).copied()
    }

    /// Peer of a port that exists.
    pub fn of(&self, node: u32, port: u16) -> u16 {
        self.0[node as usize][usize::from(port)]
    }
}

/// Defines a table: `Name("name", row: Row, context: Context) { column: type, "unit", "meaning" => value; ... }`. `row`
/// is a reference.
macro_rules! table {
    (
        $(#[$doc:meta])* $table:ident($name:literal, $row:ident: $Row:ty, $cx:ident: $Cx:ty) {
            $($column:ident: $kind:ident, $unit:literal, $meaning:literal => $value:expr;)*
        }
    ) => {
        $(#[$doc])*
        pub(crate) struct $table;

        impl $table {
            /// Name and columns of the table.
            pub(crate) const SCHEMA: $crate::columns::TableSchema =
                ($name, &[$((stringify!($column), stringify!($kind), $unit, $meaning)),*]);

            /// Converts rows to columns.
            pub(crate) fn columns(
                rows: impl IntoIterator<Item: std::borrow::Borrow<$Row>>,
                $cx: &$Cx,
            ) -> Vec<$crate::columns::Column> {
                $(let mut $column = Vec::new();)*
                for row in rows {
                    let $row: &$Row = std::borrow::Borrow::borrow(&row);
                    $($column.push($value);)*
                }
                vec![$((stringify!($column), table!(@values $kind)($column))),*]
            }
        }
    };
    (@values cat) => { $crate::columns::Values::U16 };
    (@values u8) => { $crate::columns::Values::U8 };
    (@values u16) => { $crate::columns::Values::U16 };
    (@values u32) => { $crate::columns::Values::U32 };
    (@values u64) => { $crate::columns::Values::U64 };
    (@values f64) => { $crate::columns::Values::F64 };
}

pub(crate) use table;
