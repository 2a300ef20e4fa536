/**
 * A new idempotency key: 128 random bits. Not crypto.randomUUID, which browsers leave out on pages that came by plain http
 * from another machine.
 * @example
 * const idempotencyKey = newIdempotencyKey();
 * const first = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
 * const again = await baton.tasks.create({ title: 'Once' }, { idempotencyKey });
 * console.log(first.id === again.id);
 */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
