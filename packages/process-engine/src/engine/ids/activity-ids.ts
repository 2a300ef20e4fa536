import { createHash } from 'node:crypto';

/** The namespace of the ids that the process engine creates; any fixed UUID would do. */
const namespace = Buffer.from('5f0f5a0e9c0b4f0f8d7a6c2c1b9f3e21', 'hex');

/**
 * A UUIDv5 of its purpose: the same instance, element, attempt and purpose give the same id, so that a step repeated
 * after a crash opens the same task and the same timer (docs/reference/processes.md#engine).
 */
export function activityId(instanceId: string, element: string, attempt: number, purpose = ''): string {
  const name = JSON.stringify([instanceId, element, attempt, purpose]);
  const bytes = createHash('sha1').update(namespace).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
