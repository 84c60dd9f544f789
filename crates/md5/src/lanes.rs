//! The compression of MD5 over several streams at once, one in each lane of a vector.
//!
//! One stream cannot go faster: every step waits for the one before. But streams do not wait for each other, so sixteen
//! of them side by side take little longer than one. The compiler turns the arrays below into vectors, once for what
//! every processor has and once for AVX2.

/// The four words of a stream's state.
pub(super) type Words = [u32; 4];
/// What every stream begins with.
pub(super) const INITIAL: Words = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
/// The unit of the compression.
pub(super) const BLOCK_BYTES: usize = 64;
/// As many streams as go side by side.
pub(super) const LANES_MAX: usize = 16;

const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// One stream: its state, and whole blocks that it takes next.
pub(super) struct Lane<'a> {
    pub(super) words: &'a mut Words,
    pub(super) blocks: &'a [u8],
}

/// Takes all blocks of all lanes. They may differ in length: the shorter ones end earlier.
pub(super) fn compress(lanes: &mut [Lane<'_>]) {
    loop {
        // Those with most left come first, so that the lanes in use are the first ones.
        lanes.sort_by_key(|lane| std::cmp::Reverse(lane.blocks.len()));
        let active = lanes.iter().take_while(|lane| lane.blocks.len() >= BLOCK_BYTES).count();
        let Some((group, _)) = lanes.split_at_mut_checked(active.min(LANES_MAX)) else { return };
        let shortest = group.last().map_or(0, |lane| lane.blocks.len() / BLOCK_BYTES);
        match active {
            0 => return,
            1 => together::<1>(group, shortest),
            2 => together::<2>(group, shortest),
            3..=4 => together::<4>(group, shortest),
            5..=8 => together::<8>(group, shortest),
            _ => together::<LANES_MAX>(group, shortest),
        }
        for lane in group {
            lane.blocks = lane.blocks.get(shortest * BLOCK_BYTES..).unwrap_or_default();
        }
    }
}

/// Takes `count` blocks of each lane. There may be fewer lanes than `N`; the others do what the first does.
fn together<const N: usize>(lanes: &mut [Lane<'_>], count: usize) {
    let Some(first) = lanes.first() else { return };
    let mut blocks = [first.blocks; N];
    let mut state = INITIAL.map(|word| [word; N]);
    for (number, lane) in lanes.iter().enumerate().take(N) {
        set(&mut blocks, number, lane.blocks);
        for (word, value) in state.iter_mut().zip(*lane.words) {
            set(word, number, value);
        }
    }
    blocks_of(&mut state, &blocks, count);
    for (number, lane) in lanes.iter_mut().enumerate().take(N) {
        for (word, values) in lane.words.iter_mut().zip(&state) {
            *word = values.get(number).copied().unwrap_or_default();
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn blocks_of<const N: usize>(state: &mut [[u32; N]; 4], blocks: &[&[u8]; N], count: usize) {
    #[target_feature(enable = "avx2")]
    fn with_avx2<const N: usize>(state: &mut [[u32; N]; 4], blocks: &[&[u8]; N], count: usize) {
        one_by_one(state, blocks, count);
    }
    if N > 1 && std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "how code for a kind of processor is called")]
        // SAFETY: the function needs nothing but AVX2, and the processor says that it has it.
        unsafe {
            with_avx2(state, blocks, count);
        }
    } else {
        one_by_one(state, blocks, count);
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn blocks_of<const N: usize>(state: &mut [[u32; N]; 4], blocks: &[&[u8]; N], count: usize) {
    one_by_one(state, blocks, count);
}

#[inline(always)]
fn one_by_one<const N: usize>(state: &mut [[u32; N]; 4], blocks: &[&[u8]; N], count: usize) {
    for place in 0..count {
        block(state, &words_of(blocks, place));
    }
}

fn set<T>(places: &mut [T], number: usize, value: T) {
    if let Some(place) = places.get_mut(number) {
        *place = value;
    }
}

/// The sixteen words of one block of each lane, word by word.
#[inline(always)]
fn words_of<const N: usize>(blocks: &[&[u8]; N], place: usize) -> [[u32; N]; 16] {
    let mut words = [[0; N]; 16];
    for (number, lane) in blocks.iter().enumerate() {
        let start = place * BLOCK_BYTES;
        let block = lane.get(start..start + BLOCK_BYTES).unwrap_or_default();
        let (block, _) = block.as_chunks::<4>();
        for (word, bytes) in words.iter_mut().zip(block) {
            set(word, number, u32::from_le_bytes(*bytes));
        }
    }
    words
}

#[inline(always)]
fn block<const N: usize>(state: &mut [[u32; N]; 4], words: &[[u32; N]; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    round::<N, 0>(&mut a, &mut b, &mut c, &mut d, words);
    round::<N, 1>(&mut a, &mut b, &mut c, &mut d, words);
    round::<N, 2>(&mut a, &mut b, &mut c, &mut d, words);
    round::<N, 3>(&mut a, &mut b, &mut c, &mut d, words);
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        for (old, new) in old.iter_mut().zip(new) {
            *old = old.wrapping_add(new);
        }
    }
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "all numbers are known when it is compiled, and below the lengths")]
fn round<const N: usize, const ROUND: usize>(
    a: &mut [u32; N],
    b: &mut [u32; N],
    c: &mut [u32; N],
    d: &mut [u32; N],
    words: &[[u32; N]; 16],
) {
    let word = |number: usize| -> &[u32; N] {
        &words[match ROUND {
            0 => number,
            1 => (5 * number + 1) % 16,
            2 => (3 * number + 5) % 16,
            _ => (7 * number) % 16,
        }]
    };
    let [s0, s1, s2, s3] = SHIFTS[ROUND];
    for number in [0, 4, 8, 12] {
        let sine = |plus: usize| SINES[ROUND * 16 + number + plus];
        step::<N, ROUND>(a, [&*b, &*c, &*d], word(number), sine(0), s0);
        step::<N, ROUND>(d, [&*a, &*b, &*c], word(number + 1), sine(1), s1);
        step::<N, ROUND>(c, [&*d, &*a, &*b], word(number + 2), sine(2), s2);
        step::<N, ROUND>(b, [&*c, &*d, &*a], word(number + 3), sine(3), s3);
    }
}

#[inline(always)]
fn step<const N: usize, const ROUND: usize>(
    a: &mut [u32; N],
    [b, c, d]: [&[u32; N]; 3],
    words: &[u32; N],
    sine: u32,
    shift: u32,
) {
    let others = b.iter().zip(c).zip(d).zip(words);
    for (a, (((b, c), d), word)) in a.iter_mut().zip(others) {
        // `b` is the word that the step before has made: what does not need it goes first, and can be done meanwhile.
        let ready = a.wrapping_add(*word).wrapping_add(sine);
        let sum = match ROUND {
            0 => ready.wrapping_add(d ^ (b & (c ^ d))),
            // A choice between two: no bit is in both, so they can be added one after the other.
            1 => ready.wrapping_add(c & !d).wrapping_add(b & d),
            2 => ready.wrapping_add(b ^ (c ^ d)),
            _ => ready.wrapping_add(c ^ (b | !d)),
        };
        *a = sum.rotate_left(shift).wrapping_add(*b);
    }
}
