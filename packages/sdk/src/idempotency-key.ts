/**
 * A new idempotency key: 128 random bits. Not crypto.randomUUID, which browsers leave out on pages that came by plain http
 * from another machine.
 * @example await baton.tasks.create({ title }, { idempotencyKey: newIdempotencyKey() })
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
