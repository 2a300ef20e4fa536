import { DemoFailed } from '@baton/demo/demo-failed';
import { PlainError } from '../plain-error.ts';

/** Runs a demo; its failures end the command with their message only. @throws PlainError */
export async function withPlainFailures<Result>(demo: Promise<Result>): Promise<Result> {
  try {
    return await demo;
  } catch (error) {
    if (error instanceof DemoFailed) throw new PlainError(error.message, { cause: error });
    throw error;
  }
}
