// What programs on the hosts of a lab have told, and how their packets went: a row for each quantity, a column for each run.
const programs = () => {
  if (!data.programs) return null;
  const { runs: names, rows } = data.programs;
  return section("programs", "Programs on the hosts", { note: "A group of hosts that run the same program has the least and the most of them. A packet is dropped by a switch or a NIC. Lateness is what the machine's scheduler added where frames enter and leave." },
    table([{ name: "quantity", text: true }, ...names.map((name) => ({ name }))], rows, "Programs on the hosts"));
};
