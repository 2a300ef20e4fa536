export function invocation(where?: { readonly folder?: string; readonly path?: string }): string;
export const programPath: string;
