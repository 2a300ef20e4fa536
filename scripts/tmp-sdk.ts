import { writeFileSync } from 'node:fs';
import { writeSdk } from './generate-sdk.ts';
import { services } from './services.ts';

for (const { path, text } of writeSdk(services)) writeFileSync(path, text);
