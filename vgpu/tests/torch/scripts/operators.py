"""Operators for which PyTorch uses CUDA's libraries, besides products and convolutions: each must complete, in training steps."""
import torch
from torch.nn import functional as F

device = "cuda"
torch.manual_seed(0)
x = torch.randn(128, 128, device=device)
labels, lengths, targets = torch.ones(4, 10, dtype=torch.int32), torch.full((4,), 50, dtype=torch.int32), torch.full((4,), 10, dtype=torch.int32)


def ctc(on):
    scores = torch.randn(50, 4, 30, device=device, requires_grad=True).log_softmax(-1)
    F.ctc_loss(scores, labels.to(on), lengths, targets).backward()


def transformer():
    image = torch.randn(2, 3, 32, 32, device=device, requires_grad=True)
    grid = F.affine_grid(torch.eye(2, 3, device=device).repeat(2, 1, 1), [2, 3, 16, 16], align_corners=True)
    F.grid_sample(image, grid, align_corners=True).sum().backward()


OPERATORS = {
    "cholesky": lambda: torch.linalg.cholesky(x @ x.T), "qr": lambda: torch.linalg.qr(x), "inv": lambda: torch.linalg.inv(x),
    "svd": lambda: torch.linalg.svd(x), "svd of many": lambda: torch.linalg.svd(x.reshape(4, 32, 128), driver="gesvda"),
    "eigh": lambda: torch.linalg.eigh(x @ x.T), "eigh of many": lambda: torch.linalg.eigh(x[:, :32].reshape(4, 32, 32)),
    "eig": lambda: torch.linalg.eig(x), "lstsq": lambda: torch.linalg.lstsq(x, x), "lu": lambda: torch.linalg.lu(x),
    "ldl": lambda: torch.linalg.ldl_solve(*torch.linalg.ldl_factor(x), x), "matrix_exp": lambda: torch.matrix_exp(x),
    "rfft": lambda: torch.fft.irfft2(torch.fft.rfft2(x)), "ctc": lambda: ctc("cpu"), "ctc on the GPU": lambda: ctc(device),
    "spatial transformer": transformer, "csr": lambda: torch.sparse.mm(x.to_sparse_csr(), x),
    "csr sum": lambda: x.to_sparse_csr() + x.to_sparse_csr(), "coo": lambda: torch.sparse.mm(x.to_sparse(), x),
    "unique": lambda: x.unique(), "histc": lambda: torch.histc(x), "multinomial": lambda: torch.multinomial(x.abs(), 2),
    "int8 product": lambda: torch._int_mm(torch.ones(32, 32, dtype=torch.int8, device=device),
                                          torch.ones(32, 32, dtype=torch.int8, device=device)),
}

model = torch.nn.Linear(128, 128, device=device)
optimizer = torch.optim.AdamW(model.parameters())
for name, operator in OPERATORS.items():
    optimizer.zero_grad()
    operator()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    print(name)
