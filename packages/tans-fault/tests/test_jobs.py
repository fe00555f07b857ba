def test_a_sum_over_two_processes(job):
    two = job(2)
    processes = two.start_all("psum")
    for i, process in enumerate(processes):
        assert process.expect(r"devices (.*)")[1] == f"2 1 {i} 2"
        assert process.expect(r"sum (.*)")[1] == "3.0"
        assert process.expect(r"alive (.*)")[1] == "[0, 2048]"
        process.expect("done")
        assert process.wait() == 0
