"""Packet events as pcap records, whole chunks at a time. What a record says is described in `paceline.trace`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEND, _RECEIVE = 0, 4
_SYN_BYTES = 40
_HEADERS = 40  # IPv4 and TCP, bytes
_ETHERNET = 14
_KEPT = _ETHERNET + _HEADERS
_SYN, _PSH, _ACK = 0x02, 0x08, 0x10
_SENDERS, _RECEIVERS = 0x0A000001, 0x0A800001  # 10.0.0.1 and 10.128.0.1

_RECORD = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("kept", "<u4"),
        ("length", "<u4"),
        ("mac_to", "u1", 6),
        ("mac_from", "u1", 6),
        ("ethertype", ">u2"),
        ("version", ">u2"),
        ("ip_length", ">u2"),
        ("ip_id", ">u2"),
        ("fragment", ">u2"),
        ("ttl_protocol", ">u2"),
        ("ip_checksum", ">u2"),
        ("address_from", ">u4"),
        ("address_to", ">u4"),
        ("port_from", ">u2"),
        ("port_to", ">u2"),
        ("seq", ">u4"),
        ("ack", ">u4"),
        ("flags", ">u2"),
        ("window", ">u2"),
        ("tcp_checksum", ">u2"),
        ("urgent", ">u2"),
    ]
)


class Conversations:
    """Remembers of each flow what its sequence numbers need."""

    def __init__(self) -> None:
        self._payload = np.zeros(0, np.int64)  # of a full packet, bytes; 0 is not known yet
        self._syn = np.zeros(0, bool)  # began with one
        self._answered = np.zeros(0, bool)  # its SYN was

    def records(self, chunk: Mapping[str, Any]) -> bytes:
        """The records of one chunk of events."""
        events = np.asarray(chunk["event"])
        kinds = np.asarray(chunk["kind"])
        seen = ((events == _SEND) & (kinds == 0)) | ((events == _RECEIVE) & (kinds == 1))
        columns = {name: np.asarray(chunk[name])[seen] for name in ("time_ns", "flow", "kind", "seq", "bytes", "cwnd")}
        time, flow = columns["time_ns"].astype(np.uint64), columns["flow"].astype(np.int64)
        seq, data = columns["seq"].astype(np.int64), columns["kind"] == 0
        if not len(flow):
            return b""
        length = np.maximum(columns["bytes"].astype(np.int64), _HEADERS)
        syn, answer = self._learn(flow, seq, length, data)
        step = self._payload[flow]
        # A SYN is packet 0 and takes one number; payload begins at 1 either way.
        before = np.where(data, seq, seq + 1) - self._syn[flow]
        position = np.where(syn, 0, 1 + np.maximum(before, 0) * step)

        record = np.zeros(len(flow), _RECORD)
        record["seconds"], record["nanoseconds"] = time // 10**9, time % 10**9
        record["kept"], record["length"] = _KEPT, length + _ETHERNET
        forward = data[:, None]
        left, right = np.array([2, 0, 0, 0, 0, 1], np.uint8), np.array([2, 0, 0, 0, 0, 2], np.uint8)
        record["mac_to"] = np.where(forward, right, left)
        record["mac_from"] = np.where(forward, left, right)
        record["ethertype"], record["version"], record["fragment"] = 0x0800, 0x4500, 0x4000
        record["ip_length"] = np.minimum(length, 65535)
        record["ip_id"] = np.arange(len(flow)) & 0xFFFF
        here, there = _SENDERS + flow, _RECEIVERS + flow
        port = 10_000 + flow % 50_000
        record["address_from"], record["address_to"] = np.where(data, here, there), np.where(data, there, here)
        record["port_from"], record["port_to"] = np.where(data, port, 5001), np.where(data, 5001, port)
        udp = data & ~(columns["cwnd"] > 0)
        record["seq"] = np.where(data, position, np.where(answer, 0, 1)) & 0xFFFF_FFFF
        record["ack"] = np.where(data, np.where(syn, 0, 1), position) & 0xFFFF_FFFF
        flags = np.where(data, np.where(syn, _SYN, _ACK | _PSH), np.where(answer, _SYN | _ACK, _ACK))
        record["flags"] = 0x5000 | flags
        record["window"] = 65535
        record["ttl_protocol"] = 0x4006
        record["tcp_checksum"] = _tcp_checksum(record)
        self._as_udp(record, udp, length)
        record["ip_checksum"] = _ip_checksum(record)
        return record.tobytes()

    def _learn(
        self, flow: NDArray[Any], seq: NDArray[Any], length: NDArray[Any], data: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Takes note of payloads and SYNs; says which of these packets are a SYN, or the answer to one."""
        missing = int(flow.max()) + 1 - len(self._payload)
        if missing > 0:
            self._payload = np.concatenate([self._payload, np.zeros(missing, np.int64)])
            self._syn = np.concatenate([self._syn, np.zeros(missing, bool)])
            self._answered = np.concatenate([self._answered, np.zeros(missing, bool)])
        syn = data & (seq == 0) & (length == _SYN_BYTES)
        self._syn[flow[syn]] = True
        full = data & (length > _HEADERS)
        np.maximum.at(self._payload, flow[full], length[full] - _HEADERS)
        answer = np.zeros(len(flow), bool)
        candidates = np.flatnonzero(~data & (seq == 0) & self._syn[flow] & ~self._answered[flow])
        _, first = np.unique(flow[candidates], return_index=True)
        answer[candidates[first]] = True
        self._answered[flow[answer]] = True
        return syn, answer

    @staticmethod
    def _as_udp(record: NDArray[Any], udp: NDArray[np.bool_], length: NDArray[Any]) -> None:
        """A flow without a window is UDP: length and no checksum where TCP has its number, and zeros after."""
        record["ttl_protocol"][udp] = 0x4011
        record["seq"][udp] = (np.minimum(length, 65535)[udp] - 20) << 16
        for name in ("ack", "flags", "window", "tcp_checksum", "urgent"):
            record[name][udp] = 0


def _ip_checksum(record: NDArray[Any]) -> NDArray[np.uint64]:
    return _fold(_words(record, ("version", "ip_length", "ip_id", "fragment", "ttl_protocol")) + _addresses(record))


def _tcp_checksum(record: NDArray[Any]) -> NDArray[np.uint64]:
    """Of header and pseudo-header; the payload, which is not kept, counts as zeros."""
    total = _words(record, ("port_from", "port_to", "flags", "window", "urgent")) + _addresses(record)
    for name in ("seq", "ack"):
        total += _halves(record[name])
    return _fold(total + 6 + record["ip_length"].astype(np.uint64) - np.uint64(20))


def _words(record: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.uint64]:
    total = np.zeros(len(record), np.uint64)
    for name in names:
        total += record[name].astype(np.uint64)
    return total


def _addresses(record: NDArray[Any]) -> NDArray[np.uint64]:
    return _halves(record["address_from"]) + _halves(record["address_to"])


def _halves(values: NDArray[Any]) -> NDArray[np.uint64]:
    wide = values.astype(np.uint64)
    return (wide >> np.uint64(16)) + (wide & np.uint64(0xFFFF))


def _fold(total: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for _ in range(2):
        total = (total & np.uint64(0xFFFF)) + (total >> np.uint64(16))
    return np.uint64(0xFFFF) - total
