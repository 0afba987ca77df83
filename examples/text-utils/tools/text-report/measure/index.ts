export { count, type Count } from './count.js';
export { mostFrequent } from './frequent.js';
