import { z } from 'zod';
import { Uuid } from './wire.ts';

/** The formats of keys (docs/reference/workspaces.md#limits). */

export const Slug = z
  .string()
  .min(2)
  .max(63)
  .regex(
    /^[a-z0-9][a-z0-9-]*$/,
    'must be lower-case letters, digits and -, beginning with a letter or digit',
  );

export const TypeKey = z
  .string()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9][a-z0-9_-]*$/,
    'must be lower-case letters, digits, - and _, beginning with a letter or digit',
  );

/**
 * A version of an object in a path: the key alone for the newest version, or `key@version`. Any other string matches no
 * version.
 */
export interface VersionRef {
  readonly key: string | null;
  readonly version: number | null;
}

export const VersionRef = z
  .string()
  .min(1)
  .max(100)
  .transform((text): VersionRef => {
    const [, key = null, version = null] =
      /^([a-z0-9][a-z0-9_-]{0,62})(?:@([1-9]\d{0,8}))?$/.exec(text) ?? [];
    return { key, version: version === null ? null : Number(version) };
  })
  .meta({ description: 'The key for the newest version, or key@version.' });

export const DisplayName = z.string().min(1).max(200);
export const descriptionCharactersMax = 10_000;
export const Description = z.string().max(descriptionCharactersMax);

export const idParams = { id: Uuid };
