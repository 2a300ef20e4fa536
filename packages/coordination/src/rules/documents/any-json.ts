import { z } from 'zod';
import type { Json } from '@baton/values/wire';

/** A value of JSON whose form is judged elsewhere, if at all. */
export const AnyJson = z.unknown() as z.ZodType<Json, Json>;
