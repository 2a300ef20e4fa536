import { z } from 'zod';
import { Uuid } from '@baton/kernel/wire';

/** The forms of keys (organisation, section 1.3). */

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

export const DisplayName = z.string().min(1).max(200);
export const descriptionCharactersMax = 10_000;
export const Description = z.string().max(descriptionCharactersMax);

export const idParams = { id: Uuid };
