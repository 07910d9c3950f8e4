//! Values that can lie in a file.

use backwater_types::Instant;

/// A value of a fixed number of bytes.
pub trait Record: Copy + Send + 'static {
    /// Number of bytes.
    const BYTES: usize;

    /// Writes the value into [`Record::BYTES`] bytes.
    fn write(self, into: &mut [u8]);

    /// Reads the value from [`Record::BYTES`] bytes.
    fn read(from: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Record for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn write(self, into: &mut [u8]) {
                into.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read(from: &[u8]) -> $number {
                <$number>::from_le_bytes(from.try_into().expect("as many bytes as the number has"))
            }
        }
    )*};
}

numbers!(u16 u32 u64 i64 f64);

impl Record for Instant {
    const BYTES: usize = u64::BYTES;

    #[inline]
    fn write(self, into: &mut [u8]) {
        self.0.write(into);
    }

    #[inline]
    fn read(from: &[u8]) -> Instant {
        Instant(u64::read(from))
    }
}
