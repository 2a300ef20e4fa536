import { z } from 'zod';

/**
 * Usage of work (docs/reference/actions-and-usage.md#usage): tokens, and money in millionths of each currency's unit.
 */
export const Usage = z
  .strictObject({
    inputTokens: z.int(),
    outputTokens: z.int(),
    costs: z.array(z.strictObject({ currency: z.string(), costMicros: z.int() })),
  })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof Usage>;

/** The handler checks the code against the known currencies. */
export const CurrencyCode = z
  .string()
  .regex(/^[A-Z]{3}$/, 'must be a currency code of ISO 4217')
  .meta({ description: 'ISO 4217; USD by default.' });

export const currencyDefault = 'USD';

const currencies = new Set(Intl.supportedValuesOf('currency'));

export function isCurrency(code: string): boolean {
  return currencies.has(code);
}

/** Stored sums; `costs` by currency. */
export interface UsageRow {
  input_tokens: number;
  output_tokens: number;
  costs: Record<string, number>;
}

/** The wire format of sums, with currencies in alphabetical order. */
export function usageOf({ input_tokens, output_tokens, costs }: UsageRow): Usage {
  const entries = Object.entries(costs).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    costs: entries.map(([currency, costMicros]) => ({ currency, costMicros })),
  };
}
