import { randomFillSync, randomUUID } from 'node:crypto';

/**
 * The time of the last id in ms since 1970, that time as the first 12 digits of an id, and the number of the last id
 * among those of the same ms.
 */
let idMs = 0;
let idTime = '';
let idNumber = 0;
const idNumberMax = 0xfff;

/**
 * A UUIDv7. Ids increase with time, so that new rows are added at the end of an index. The ids of one process are in
 * creation order: rows of one transaction have the same time, and lists order such rows by id.
 */
export function newId(): string {
  const nowMs = Date.now();
  if (nowMs > idMs || idNumber === idNumberMax) {
    idMs = Math.max(nowMs, idMs + 1);
    idTime = idMs.toString(16).padStart(12, '0');
    idNumber = 0;
  } else idNumber += 1;
  const number = idNumber.toString(16).padStart(3, '0');
  // randomUUID takes its bytes from a cache. Generating 16 random bytes in each call took 5 % of the time of a claim.
  return `${idTime.slice(0, 8)}-${idTime.slice(8)}-7${number}${randomUUID().slice(18)}`;
}

const traceBytes = Buffer.allocUnsafe(16 * 1024);
let traceBytesUsed = traceBytes.length;

/** 32 random hex digits, for ids that only have to be unique. */
export function newTraceHex(): string {
  if (traceBytesUsed === traceBytes.length) {
    randomFillSync(traceBytes);
    traceBytesUsed = 0;
  }
  traceBytesUsed += 16;
  return traceBytes.toString('hex', traceBytesUsed - 16, traceBytesUsed);
}
