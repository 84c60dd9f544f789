//! What a crash of the simulated disk may and may not do.

use super::*;

fn disk_with_directory() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    disk.create_directory("d").unwrap();
    disk.sync_directory("").unwrap();
    disk
}

#[test]
fn synced_bytes_survive_every_crash_and_unsynced_ones_only_whole_sectors() {
    let disk = disk_with_directory();
    let file = disk.create("d/f").unwrap();
    file.write_at(&[1; 1024], 0).unwrap();
    file.sync().unwrap();
    disk.sync_directory("d").unwrap();
    file.write_at(&[2; 2048], 0).unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let after = SimulatedDisk::from_image(disk.crash(seed));
        let file = after.open("d/f").unwrap();
        let mut bytes = vec![9; 2048];
        let length = file.read_at(&mut bytes, 0).unwrap();
        for sector in bytes[..length].chunks(512) {
            assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn");
        }
        assert!(bytes[..1024].iter().all(|byte| [1, 2].contains(byte)));
        seen.insert((length, bytes[0], bytes[512]));
    }
    assert!(seen.len() > 5, "crashes differ: {seen:?}");
}

#[test]
fn a_name_survives_only_after_its_directory_was_synced() {
    let disk = disk_with_directory();
    disk.create("d/f").unwrap();
    let lost = (0..50).filter(|seed| SimulatedDisk::from_image(disk.crash(*seed)).open("d/f").is_err()).count();
    assert!(lost > 0 && lost < 50);
    disk.sync_directory("d").unwrap();
    assert!((0..50).all(|seed| SimulatedDisk::from_image(disk.crash(seed)).open("d/f").is_ok()));
}

#[test]
fn a_directory_survives_only_after_its_parent_was_synced() {
    let disk = SimulatedDisk::new();
    disk.create_directory("d").unwrap();
    disk.create("d/f").unwrap().sync().unwrap();
    disk.sync_directory("d").unwrap();
    let lost = (0..50).filter(|seed| SimulatedDisk::from_image(disk.crash(*seed)).open("d/f").is_err()).count();
    assert!(lost > 0 && lost < 50);
    disk.sync_directory("").unwrap();
    assert!((0..50).all(|seed| SimulatedDisk::from_image(disk.crash(seed)).open("d/f").is_ok()));
}

#[test]
fn what_a_failed_sync_lost_is_read_until_the_power_fails_and_kept_when_written_again() {
    let disk = disk_with_directory();
    let file = disk.create("d/f").unwrap();
    file.write_at(&[1; 512], 0).unwrap();
    file.sync().unwrap();
    disk.sync_directory("d").unwrap();
    file.write_at(&[2; 512], 0).unwrap();
    disk.fail_syncs(Some("f"));
    assert!(file.sync().is_err());
    disk.fail_syncs(None);
    file.sync().unwrap();
    let byte = |disk: &SimulatedDisk| {
        let mut byte = [0];
        disk.open("d/f").unwrap().read_at(&mut byte, 0).unwrap();
        byte[0]
    };
    assert_eq!(byte(&disk), 2);
    assert!((0..20).all(|seed| byte(&SimulatedDisk::from_image(disk.crash(seed))) == 1));
    file.write_at(&[2; 512], 0).unwrap();
    file.sync().unwrap();
    assert!((0..20).all(|seed| byte(&SimulatedDisk::from_image(disk.crash(seed))) == 2));
}

#[test]
fn power_stays_off() {
    let disk = disk_with_directory();
    let file = disk.create("d/f").unwrap();
    disk.fail_power_at(disk.calls() + 1);
    file.write_at(b"a", 0).unwrap();
    assert!(file.write_at(b"b", 0).is_err());
    assert!(file.read_at(&mut [0], 0).is_err());
    assert!(disk.open("d/f").is_err());
}
