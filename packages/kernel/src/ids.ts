import { randomFillSync, randomUUID } from 'node:crypto';

/** A UUIDv7: rising with time, so that new rows land at the end of an index. */
export function newId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  // randomUUID draws its bytes from a cache; asking for 16 of them each time cost 5 % of a claim.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

const traceBytes = Buffer.allocUnsafe(16 * 1024);
let traceBytesUsed = traceBytes.length;

/** 32 hex digits for ids that only have to be unlike each other. */
export function newTraceHex(): string {
  if (traceBytesUsed === traceBytes.length) {
    randomFillSync(traceBytes);
    traceBytesUsed = 0;
  }
  traceBytesUsed += 16;
  return traceBytes.toString('hex', traceBytesUsed - 16, traceBytesUsed);
}
