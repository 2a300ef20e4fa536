import { z } from 'zod';
import type { Json } from '@baton/values/wire';

/** A JSON value that is validated elsewhere, if at all. */
export const AnyJson = z.unknown() as z.ZodType<Json, Json>;
