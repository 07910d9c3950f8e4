-- Wireshark's view of the frames between Backwater's switches (EtherType 0x88B5).
--
--   wireshark -X lua_script:backwater.lua FILE
--   tshark -X lua_script:backwater.lua -r FILE -V
--
-- The format is in docs/lab-wire.md. PFC frames (EtherType 0x8808) need no script. Scripts are not loaded for root.

local wire = Proto("backwater", "Backwater link")

local TYPES = { [1] = "packet", [2] = "control frame", [3] = "hello", [4] = "answer" }
local KINDS = { [0] = "data", [1] = "acknowledgement" }
local OPERATIONS = {
    [1] = "PAUSE",
    [2] = "RESUME",
    [3] = "BITMAP",
    [4] = "PAUSE of a flow",
    [5] = "RESUME of a flow",
    [6] = "CREDIT",
    [7] = "CREDIT SENT",
}

local f = {
    version = ProtoField.uint8("backwater.version", "Version"),
    type = ProtoField.uint8("backwater.type", "Type", base.DEC, TYPES),
    kind = ProtoField.uint8("backwater.kind", "Kind", base.DEC, KINDS),
    flags = ProtoField.uint8("backwater.flags", "Flags", base.HEX),
    ce = ProtoField.bool("backwater.flags.ce", "Congestion experienced", 8, nil, 0x01),
    last = ProtoField.bool("backwater.flags.last", "Last packet of its flow", 8, nil, 0x02),
    ect = ProtoField.bool("backwater.flags.ect", "ECN-capable", 8, nil, 0x04),
    incast = ProtoField.bool("backwater.flags.incast", "Incast", 8, nil, 0x08),
    class = ProtoField.uint8("backwater.class", "Traffic class"),
    upstream_queue = ProtoField.uint16("backwater.upstream_queue", "Upstream queue"),
    wire = ProtoField.uint16("backwater.wire", "Bytes that the packet counts"),
    length = ProtoField.uint16("backwater.length", "Length of the wrapped frame"),
    dst = ProtoField.uint16("backwater.dst", "Destination host"),
    src = ProtoField.uint16("backwater.src", "Source host"),
    flow = ProtoField.uint32("backwater.flow", "Flow"),
    slot = ProtoField.uint32("backwater.slot", "Slot at the sender"),
    key = ProtoField.uint32("backwater.key", "Hash of the flow", base.HEX),
    seq = ProtoField.uint32("backwater.seq", "Position in the flow"),
    operation = ProtoField.uint8("backwater.operation", "Operation", base.DEC, OPERATIONS),
    queue = ProtoField.uint16("backwater.queue", "Queue"),
    bitmap = ProtoField.bytes("backwater.bitmap", "Queues as bits"),
    paused = ProtoField.uint16("backwater.paused", "Paused queue"),
    bytes = ProtoField.uint64("backwater.bytes", "Bytes since the link came up"),
    number = ProtoField.uint64("backwater.number", "Random number", base.HEX),
    zero = ProtoField.bytes("backwater.zero", "Zero"),
}
wire.fields = f

local unknown = ProtoExpert.new("backwater.unknown", "Unknown value", expert.group.MALFORMED, expert.severity.ERROR)
local lying = ProtoExpert.new("backwater.lying", "Length does not fit", expert.group.MALFORMED, expert.severity.ERROR)
local reserved = ProtoExpert.new("backwater.reserved", "Byte is not zero", expert.group.MALFORMED, expert.severity.ERROR)
wire.experts = { unknown, lying, reserved }

-- Reads a wrapped frame, which has no check sequence.
local ethernet = Dissector.get("eth_withoutfcs")

-- Offsets are those of the table, which counts the Ethernet header. The buffer begins after it.
local ETHERNET = 14
local HEADER = 48 - ETHERNET
local SMALLEST = 60 - ETHERNET

-- Bytes that have no meaning, up to `to`.
local function zeros(tree, buffer, from, to)
    from, to = from - ETHERNET, math.min(to - ETHERNET, buffer:len())
    if to <= from then
        return
    end
    local item = tree:add(f.zero, buffer(from, to - from))
    for at = from, to - 1 do
        if buffer(at, 1):uint() ~= 0 then
            item:add_proto_expert_info(reserved)
            return
        end
    end
end

local function field(tree, of, buffer, at, length)
    return tree:add(of, buffer(at - ETHERNET, length))
end

-- A value with a name, which is returned.
local function named(tree, of, names, buffer, at)
    local item = field(tree, of, buffer, at, 1)
    local name = names[buffer(at - ETHERNET, 1):uint()]
    if name == nil then
        item:add_proto_expert_info(unknown)
    end
    return name or "unknown"
end

local function packet(tree, buffer, pinfo, root)
    local kind = named(tree, f.kind, KINDS, buffer, 16)
    local flags = field(tree, f.flags, buffer, 17, 1)
    for _, of in ipairs({ f.ce, f.last, f.ect, f.incast }) do
        field(flags, of, buffer, 17, 1)
    end
    if buffer(17 - ETHERNET, 1):uint() >= 16 then
        flags:add_proto_expert_info(unknown)
    end
    field(tree, f.class, buffer, 18, 1)
    zeros(tree, buffer, 19, 20)
    field(tree, f.upstream_queue, buffer, 20, 2)
    field(tree, f.wire, buffer, 22, 2)
    local length = field(tree, f.length, buffer, 24, 2)
    field(tree, f.dst, buffer, 26, 2)
    field(tree, f.src, buffer, 28, 2)
    zeros(tree, buffer, 30, 32)
    field(tree, f.flow, buffer, 32, 4)
    field(tree, f.slot, buffer, 36, 4)
    field(tree, f.key, buffer, 40, 4)
    field(tree, f.seq, buffer, 44, 4)
    local wrapped = buffer(HEADER):tvb()
    if buffer(24 - ETHERNET, 2):uint() ~= wrapped:len() then
        length:add_proto_expert_info(lying)
    end
    local upstream, flow = buffer(20 - ETHERNET, 2):uint(), buffer(32 - ETHERNET, 4):uint()
    ethernet:call(wrapped, pinfo, root)
    return string.format("%s of flow %u out of queue %u: ", kind, flow, upstream)
end

local function control(tree, buffer)
    local text = named(tree, f.operation, OPERATIONS, buffer, 16)
    local operation = buffer(16 - ETHERNET, 1):uint()
    if operation == 4 or operation == 5 then
        field(tree, f.class, buffer, 17, 1)
        zeros(tree, buffer, 18, 20)
        field(tree, f.flow, buffer, 20, 4)
        field(tree, f.slot, buffer, 24, 4)
        zeros(tree, buffer, 28, 60)
        return string.format("%s %u", text, buffer(20 - ETHERNET, 4):uint())
    end
    if OPERATIONS[operation] == nil then
        return text
    end
    zeros(tree, buffer, 17, 18)
    if operation == 1 or operation == 2 then
        field(tree, f.queue, buffer, 18, 2)
        zeros(tree, buffer, 20, 60)
        return string.format("%s of queue %u", text, buffer(18 - ETHERNET, 2):uint())
    end
    zeros(tree, buffer, 18, 20)
    if operation == 3 then
        local map = field(tree, f.bitmap, buffer, 20, 16)
        local queues = {}
        for queue = 0, 127 do
            local byte = buffer(35 - math.floor(queue / 8) - ETHERNET, 1)
            if bit.band(byte:uint(), bit.lshift(1, queue % 8)) ~= 0 then
                map:add(f.paused, byte, queue)
                table.insert(queues, queue)
            end
        end
        zeros(tree, buffer, 36, 60)
        return text .. " of queues " .. (#queues > 0 and table.concat(queues, ", ") or "none")
    end
    field(tree, f.bytes, buffer, 20, 8)
    zeros(tree, buffer, 28, 60)
    return text .. " " .. tostring(buffer(20 - ETHERNET, 8):uint64()) .. " B"
end

function wire.dissector(buffer, pinfo, root)
    local tree = root:add(wire, buffer(0, math.min(buffer:len(), HEADER)))
    if buffer:len() < SMALLEST then
        tree:add_proto_expert_info(lying)
        return
    end
    local version = field(tree, f.version, buffer, 14, 1)
    local name = named(tree, f.type, TYPES, buffer, 15)
    local of = buffer(15 - ETHERNET, 1):uint()
    local text = name
    if buffer(0, 1):uint() ~= 1 then
        version:add_proto_expert_info(unknown)
        text = "unknown version"
    elseif of == 1 then
        -- The wrapped frame writes its own columns, and ours come before them.
        text = packet(tree, buffer, pinfo, root)
        pinfo.cols.info:prepend(text)
        return
    elseif TYPES[of] ~= nil then
        if of == 2 then
            text = control(tree, buffer)
        else
            field(tree, f.number, buffer, 16, 8)
            zeros(tree, buffer, 24, 60)
        end
        if buffer:len() > SMALLEST then
            tree:add_proto_expert_info(lying)
        end
    end
    pinfo.cols.protocol = "Backwater"
    pinfo.cols.info = text
end

DissectorTable.get("ethertype"):add(0x88B5, wire)
